# Installs a build, then configures, builds and runs a project that uses it.
# Variables: BUILD_DIR, WORK_DIR, CONSUMER_DIR, GENERATOR, COMPILER, FLAGS (of the consumer: sanitizers must match).
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
run(${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
if(NOT output MATCHES "^length 5[0-9]\\.[0-9]+\n$")
  message(FATAL_ERROR "unexpected output of the consumer: ${output}")
endif()
if(EXISTS ${WORK_DIR}/prefix/bin/puretour)
  run(${WORK_DIR}/prefix/bin/puretour --version)
endif()
