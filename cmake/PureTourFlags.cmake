# Compile flags shared by every target, as one interface library.
add_library(puretour_flags INTERFACE)
target_compile_features(puretour_flags INTERFACE cxx_std_20)
# Contraction to fused multiply-add would change the sign of near-zero predicates from one machine to the next;
# kernels that want FMA ask for it by intrinsic.
target_compile_options(puretour_flags INTERFACE -ffp-contract=off -Wall -Wextra -Wpedantic -Wshadow -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 sees ghosts in std::string (GCC bug 105329), and its straight-line vectoriser forgets the rounding in
  # double(float(x)); loops are still vectorised.
  target_compile_options(puretour_flags INTERFACE -Wno-restrict -fno-tree-slp-vectorize)
endif()
if(PURETOUR_WERROR)
  target_compile_options(puretour_flags INTERFACE -Werror)
endif()

# What the library adds: the command and the tests call fast code rather than being it, and compile much faster without.
add_library(puretour_library_flags INTERFACE)
target_link_libraries(puretour_library_flags INTERFACE puretour_flags)
add_library(puretour_light_flags INTERFACE)
target_link_libraries(puretour_light_flags INTERFACE puretour_flags)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # At -O1 there are more ghosts.
  target_compile_options(puretour_light_flags INTERFACE -Wno-array-bounds -Wno-stringop-overflow)
endif()
if(NOT PURETOUR_SANITIZE)
  target_compile_options(puretour_light_flags INTERFACE $<$<CONFIG:Release>:-O1>)
elseif(PURETOUR_SANITIZE MATCHES "^(address|thread)$")
  # -O1: the tests run several times faster, and stack traces stay readable.
  target_compile_options(puretour_flags INTERFACE -g1 -O1 -fsanitize=${PURETOUR_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(puretour_flags INTERFACE -fsanitize=${PURETOUR_SANITIZE})
  if(PURETOUR_SANITIZE STREQUAL address)
    target_compile_options(puretour_library_flags INTERFACE -fsanitize=undefined -fno-sanitize-recover=all)
    target_link_options(puretour_flags INTERFACE -fsanitize=undefined)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Its calls hide from GCC that an optional was looked into before it was read.
    target_compile_options(puretour_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
else()
  message(FATAL_ERROR "PURETOUR_SANITIZE is '${PURETOUR_SANITIZE}'; it can be OFF, address or thread")
endif()
