# Instruction-set flags by file suffix; such files include only layouts, intrinsics and their table. On another processor they are left out.
function(takt_isa_flags processors suffix)
    file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/backends/cpu/kernels/*_${suffix}.cpp)
    if(files AND TARGET takt_cpu)
        if(CMAKE_SYSTEM_PROCESSOR MATCHES "${processors}")
            set_source_files_properties(${files} TARGET_DIRECTORY takt_cpu PROPERTIES COMPILE_OPTIONS "${ARGN}")
        else()
            set_source_files_properties(${files} TARGET_DIRECTORY takt_cpu PROPERTIES HEADER_FILE_ONLY ON)
        endif()
    endif()
endfunction()
set(TAKT_X86 "x86_64|AMD64|amd64")
set(TAKT_ARM "aarch64|arm64")
set(TAKT_AVX2_FLAGS -mavx2 -mfma -mf16c)
set(TAKT_AVX512_FLAGS -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c -mavx2)
set(TAKT_NEON_FLAGS -O3)   # also where the rest is built in a hurry, to be tested under qemu
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Without these g++ computes all products of a block before it adds the first, and spills them. Version 12 also warns about the
    # undefined operands inside its own AVX-512 intrinsics.
    list(APPEND TAKT_AVX2_FLAGS -fno-tree-reassoc -fno-tree-ter)
    list(APPEND TAKT_AVX512_FLAGS -fno-tree-reassoc -fno-tree-ter -Wno-uninitialized -Wno-maybe-uninitialized)
    # Scheduling before registers are given out (on for Arm alone) makes a tile's loop spill: 606 instructions a block against 367
    # (q8_0, neon_dotprod).
    list(APPEND TAKT_NEON_FLAGS -fno-tree-reassoc -fno-tree-ter -fno-schedule-insns)
endif()
takt_isa_flags("${TAKT_X86}" avx2 ${TAKT_AVX2_FLAGS})
takt_isa_flags("${TAKT_X86}" avx_vnni ${TAKT_AVX2_FLAGS} -mavxvnni)
takt_isa_flags("${TAKT_X86}" avx512 ${TAKT_AVX512_FLAGS})
takt_isa_flags("${TAKT_X86}" avx512_vnni ${TAKT_AVX512_FLAGS} -mavx512vnni)
takt_isa_flags("${TAKT_ARM}" neon ${TAKT_NEON_FLAGS})
takt_isa_flags("${TAKT_ARM}" neon_dotprod ${TAKT_NEON_FLAGS} -march=armv8.2-a+dotprod)
takt_isa_flags("${TAKT_ARM}" neon_i8mm ${TAKT_NEON_FLAGS} -march=armv8.2-a+dotprod+i8mm)
