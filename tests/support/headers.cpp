// The headers that all tests share are compiled here, once: see tests/CMakeLists.txt.
// SPDX-License-Identifier: MIT
