# The CUDA library, beside the Python module that loads it at run time. It contains its own CUDA runtime and needs neither
# a driver nor a GPU to be built or loaded.
include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(MARIUS_CUDA STREQUAL "AUTO")
    message(STATUS "marius_lite: no CUDA compiler found, built without CUDA")
    return()
  endif()
  message(FATAL_ERROR "MARIUS_CUDA is ${MARIUS_CUDA}, but no CUDA compiler was found: put nvcc on PATH or set CUDACXX")
endif()
enable_language(CUDA)
foreach(kind STANDARD EXTENSION)  # CMake before 3.26 does not know how nvcc is asked for C++20
  if(NOT CMAKE_CUDA20_${kind}_COMPILE_OPTION)
    set(CMAKE_CUDA20_${kind}_COMPILE_OPTION -std=c++20)
  endif()
endforeach()

# Machine code for every generation from 7.5 on that the compiler knows, for 8.6 and 8.9 besides (11.0 is a Jetson), and
# PTX for those to come.
execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --list-gpu-code OUTPUT_VARIABLE known COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "sm_[0-9]+" known "${known}")
list(TRANSFORM known REPLACE "sm_" "")
list(FILTER known INCLUDE REGEX "^(75|86|89|[89]0|1[02-9]0|[2-9][0-9]0)$")
list(SORT known COMPARE NATURAL)
list(GET known -1 newest)
list(TRANSFORM known APPEND "-real")
message(STATUS "marius_lite: CUDA for ${known}, ${newest}-virtual")

file(GLOB CUDA_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cuda/*.cu")
add_library(marius_cuda SHARED ${CUDA_SOURCES})
set_target_properties(marius_cuda PROPERTIES
  CUDA_ARCHITECTURES "${known};${newest}-virtual"
  CUDA_RUNTIME_LIBRARY Static CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
# The same bits as on the CPU: products and sums are not fused.
target_compile_options(marius_cuda PRIVATE -fmad=false -Xcompiler=-ffp-contract=off)
target_link_options(marius_cuda PRIVATE -Wl,--exclude-libs,ALL -Wl,--no-undefined)
target_link_libraries(marius_cuda PRIVATE marius_core)
install(TARGETS marius_cuda LIBRARY DESTINATION ${MARIUS_CUDA_PACKAGE})
