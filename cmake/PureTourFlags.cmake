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
if(PURETOUR_SANITIZE)
  # -O1: the tests run several times faster, and stack traces stay readable.
  target_compile_options(puretour_flags INTERFACE -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
                         -fno-omit-frame-pointer)
  target_link_options(puretour_flags INTERFACE -fsanitize=address,undefined)
endif()
