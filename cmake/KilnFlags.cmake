# Compiler flags as interface targets: kiln_flags for everything, kiln_library_flags for the library's own
# objects. Float flags keep results bit-equal: no contraction, no reassociation.
include(CheckCCompilerFlag)

add_library(kiln_flags INTERFACE)
target_compile_features(kiln_flags INTERFACE c_std_11)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)

target_compile_options(kiln_flags INTERFACE
    -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv)
if(KN_WERROR)
    target_compile_options(kiln_flags INTERFACE -Werror)
endif()

if(KN_SANITIZE)
    # Compiling and linking take longer than the tests: less optimisation, and the fast linker where there is one.
    target_compile_options(kiln_flags INTERFACE -O1 -fsanitize=${KN_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer -g1)
    target_link_options(kiln_flags INTERFACE -fsanitize=${KN_SANITIZE})
endif()

# The fast linker, where there is one: for sanitizers, and for tests, which are many.
find_program(KN_LLD ld.lld)
if(KN_SANITIZE AND KN_LLD)
    target_link_options(kiln_flags INTERFACE -fuse-ld=lld)
endif()

if(KN_FUZZ)
    # Checksums are not checked, because a fuzzer cannot guess them.
    target_compile_options(kiln_flags INTERFACE -fsanitize=fuzzer-no-link)
    target_compile_definitions(kiln_flags INTERFACE FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION=1)
endif()

add_library(kiln_library_flags INTERFACE)
# Loops are written to be vectorised; where a build (a sanitizer, a scalar tier) cannot, that is no fault.
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    target_compile_options(kiln_library_flags INTERFACE -Wno-pass-failed)
endif()
target_link_libraries(kiln_library_flags INTERFACE kiln_flags)
target_compile_options(kiln_library_flags INTERFACE -ffunction-sections -fdata-sections)
if(NOT KN_TESTS_SHARED)
    target_compile_options(kiln_library_flags INTERFACE -fvisibility=hidden)
endif()
# The line in a message is the user's, never the library's.
target_compile_definitions(kiln_library_flags INTERFACE KN_NO_SITES=1)
# Pages have WebGPU through their own (src/backend/webgpu/webgpu_browser.c).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "wasm" AND KN_PARTS MATCHES "backend/webgpu")
    target_compile_definitions(kiln_library_flags INTERFACE KN_PAGE_WEBGPU=1)
endif()
if(KN_COMPACT)
    target_compile_definitions(kiln_library_flags INTERFACE KN_COMPACT=1)
    target_compile_options(kiln_library_flags INTERFACE -fno-asynchronous-unwind-tables -fno-unwind-tables)
endif()
if(KN_FREESTANDING)
    target_compile_definitions(kiln_library_flags INTERFACE KN_FREESTANDING=1)
elseif(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "wasm")
    target_compile_options(kiln_library_flags INTERFACE -ftls-model=initial-exec)
    check_c_compiler_flag(-fno-semantic-interposition KN_HAS_NO_INTERPOSITION)
    if(KN_HAS_NO_INTERPOSITION)
        target_compile_options(kiln_library_flags INTERFACE -fno-semantic-interposition)
    endif()
endif()
