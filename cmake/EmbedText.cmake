# Writes a C++ source with the text of the page's script and style: cmake -D SCRIPT=... -D STYLE=... -D OUTPUT=... -P this.
file(READ "${SCRIPT}" script)
file(READ "${STYLE}" style)
foreach(text IN ITEMS "${script}" "${style}")
  string(FIND "${text}" ")puretour\"" delimiter)
  string(FIND "${text}" "</script" end_of_script)
  if(NOT delimiter EQUAL -1 OR NOT end_of_script EQUAL -1)
    message(FATAL_ERROR "the text can not be embedded as it is: it holds a delimiter or an end of a script")
  endif()
endforeach()
file(WRITE "${OUTPUT}" "// Made from web/ at build time.\n#include \"puretour/report/page_assets.h\"\n\nnamespace puretour {\n\n"
     "std::string_view page_script() {\n  return R\"puretour(${script})puretour\";\n}\n\n"
     "std::string_view page_style() {\n  return R\"puretour(${style})puretour\";\n}\n\n}  // namespace puretour\n")
