# Installs a build, then configures, builds and runs a project that uses it.
# Variables: BUILD_DIR, WORK_DIR, CONSUMER_DIR, GENERATOR, COMPILER, FLAGS (of the consumer: sanitizers must match),
# WITH_TRAIN (the build has the part that needs LibTorch).
# SPDX-License-Identifier: MIT
file(REMOVE_RECURSE ${WORK_DIR})

function(run)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
set(configure_consumer ${CMAKE_COMMAND} -S ${CONSUMER_DIR} -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${configure_consumer} -B ${WORK_DIR}/build)
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
if(NOT output MATCHES "^length 5[0-9]\\.[0-9]+\n$")
  message(FATAL_ERROR "unexpected output of the consumer: ${output}")
endif()
# Without the part that needs LibTorch: a clear word where it is required, none where it is not.
run(${configure_consumer} -B ${WORK_DIR}/build_without_torch -DWITHOUT_TORCH=ON)
if(NOT WITH_TRAIN)
  execute_process(COMMAND ${configure_consumer} -B ${WORK_DIR}/build_train -DWITH_TRAIN=ON
                  OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
  if(status EQUAL 0 OR NOT output MATCHES "built without LibTorch")
    message(FATAL_ERROR "a missing component is not refused with a word about it: ${output}")
  endif()
  foreach(folder nn train)
    if(EXISTS ${WORK_DIR}/prefix/include/puretour/${folder})
      message(FATAL_ERROR "headers of ${folder} are installed without their library")
    endif()
  endforeach()
else()
  set(ENV{ONEDNN_MAX_CPU_ISA} AVX512_CORE_BF16)  # oneDNN 2.6 crashes in its AMX path on some machines
  run(${configure_consumer} -B ${WORK_DIR}/build_train -DWITH_TRAIN=ON)
  run(${CMAKE_COMMAND} --build ${WORK_DIR}/build_train --target train_consumer)
  run(${WORK_DIR}/build_train/train_consumer)
  if(NOT output STREQUAL "step 1, 8 log-probabilities\n")
    message(FATAL_ERROR "unexpected output of the consumer that trains: ${output}")
  endif()
endif()
if(EXISTS ${WORK_DIR}/prefix/bin/puretour)
  run(${WORK_DIR}/prefix/bin/puretour --version)
  if(WITH_TRAIN)  # by the program beside it
    run(${WORK_DIR}/prefix/bin/puretour train --model am --print-config)
    if(NOT output MATCHES "model = \"am\"")
      message(FATAL_ERROR "unexpected output of puretour train: ${output}")
    endif()
  endif()
endif()
