# Writes the commit of SOURCE_DIR as a header to OUTPUT, only if it changed: run at every build, compiles only when needed.
execute_process(COMMAND git describe --always --dirty --abbrev=10 --exclude=* WORKING_DIRECTORY ${SOURCE_DIR}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
  set(commit unknown)  # a source archive without git
endif()
set(content "#define PURETOUR_COMMIT \"${commit}\"\n")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old_content)
endif()
if(NOT "${content}" STREQUAL "${old_content}")
  file(WRITE ${OUTPUT} "${content}")
endif()
