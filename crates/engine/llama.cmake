# Read at the start of llama.cpp's own build (CMAKE_PROJECT_INCLUDE in .cargo/config.toml). After a change here:
# cargo clean --release -p llama-cpp-sys-2

# The bindings ask for llama.cpp's helpers of its command-line tools, an HTTP client among them. The engine uses none of them.
set(LLAMA_BUILD_COMMON OFF CACHE BOOL "" FORCE)

# Built on the machine that runs it, it uses all that its processor can do. The bindings set this to OFF. A build with variants
# for all processors chooses among them at its start instead.
if("$ENV{GGML_NATIVE}" STREQUAL "ON" AND NOT GGML_CPU_ALL_VARIANTS)
    set(GGML_NATIVE ON CACHE BOOL "" FORCE)
endif()

# 200 files share large headers: compiled eight at a time. The files for Apple's GPU cannot be: two have a constant of one name.
# Those for CUDA and ROCm stay apart as well: llama.cpp's own builds do not compile them together.
if(NOT APPLE)
    set(CMAKE_UNITY_BUILD ON)
endif()
function(compile_apart)
    # It wants other definitions of a header than those compiled with it, and has code for processors with AMX alone.
    set_source_files_properties(ggml/src/ggml-cpu/amx/mmq.cpp TARGET_DIRECTORY ggml-base
        PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    foreach(target ggml-cuda ggml-hip)
        if(TARGET ${target})
            set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
        endif()
    endforeach()
endfunction()
# The bindings put libraries beside the program under the names that they find them by, without a version.
function(name_libraries_plainly)
    foreach(target llama ggml ggml-base)
        set_property(TARGET ${target} PROPERTY VERSION)
        set_property(TARGET ${target} PROPERTY SOVERSION)
    endforeach()
endfunction()
# llama.cpp's code for AMX ends the process at its first instruction (ggml-org/llama.cpp#26954): GCC drops what is written into the
# configuration of the tiles, and threads lack the right to use them.
function(leave_out_amx)
    include(CheckCXXCompilerFlag)
    check_cxx_compiler_flag(-mno-amx-tile CAN_LEAVE_OUT_AMX)
    foreach(target ggml-cpu ggml-cpu-sapphirerapids)
        if(CAN_LEAVE_OUT_AMX AND TARGET ${target})
            target_compile_options(${target} PRIVATE -mno-amx-tile -mno-amx-int8 -mno-amx-bf16)
        endif()
    endforeach()
endfunction()
if(PROJECT_NAME STREQUAL "llama.cpp")
    cmake_language(DEFER CALL compile_apart)
    cmake_language(DEFER CALL leave_out_amx)
    if(BUILD_SHARED_LIBS)
        cmake_language(DEFER CALL name_libraries_plainly)
    endif()
endif()

# Of libllama only the tokenizers are hot: the arithmetic is ggml's, which keeps -O3. The other files also share large headers,
# which are parsed once (GCC crashes where it reads what was parsed for another -O).
function(compile_libllama_faster)
    target_compile_options(llama PRIVATE -O1)
    target_precompile_headers(llama PRIVATE src/llama-model.h src/llama-graph.h src/llama-context.h
        <algorithm> <functional> <map> <string> <unordered_map> <vector>)
    set_source_files_properties(src/llama-vocab.cpp src/unicode.cpp TARGET_DIRECTORY llama
        PROPERTIES COMPILE_OPTIONS -O3 SKIP_PRECOMPILE_HEADERS ON)
endfunction()
if(PROJECT_NAME STREQUAL "llama.cpp" AND NOT MSVC)
    cmake_language(DEFER CALL compile_libllama_faster)
endif()
