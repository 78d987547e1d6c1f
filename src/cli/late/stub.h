/* A function of a library that is loaded when one of its functions is called for the first time.
 * The stub jumps to the address that it finds in its entry: the function's, and until that is
 * known, that of code which asks onceguard_find_late_function for it. All registers that may hold
 * an argument are kept, so that nothing need be known of the function. x86-64 only. */

/* A library that is loaded late, and the package of Debian's that it comes from; the last has no
 * name. */
struct onceguard_late_library {
  const char* name;
  const char* package;
};
extern const struct onceguard_late_library onceguard_late_libraries[];

#define LATE(function, library)                                                \
  __asm__(".pushsection .rodata.late, \"a\", @progbits\n"                        \
          "1: .asciz \"" #function "\"\n"                                      \
          "2: .asciz \"" library "\"\n"                                        \
          ".popsection\n"                                                      \
          ".pushsection .data.late, \"aw\", @progbits\n"                       \
          ".balign 8\n"                                                        \
          "3: .quad 1b, 2b, 4f\n"                                              \
          ".popsection\n"                                                      \
          ".pushsection .text.late, \"ax\", @progbits\n"                       \
          ".balign 16\n"                                                       \
          ".globl " #function "\n"                                             \
          ".type " #function ", @function\n"                                   \
          #function ":\n"                                                      \
          "  endbr64\n"                                                        \
          "  jmp *16+3b(%rip)\n"                                               \
          "4: endbr64\n"                                                       \
          "  lea 3b(%rip), %r11\n"                                             \
          "  jmp onceguard_first_call\n"                                       \
          ".size " #function ", . - " #function "\n"                           \
          ".popsection\n");

__asm__(".pushsection .text.late, \"ax\", @progbits\n"
        ".balign 16\n"
        ".type onceguard_first_call, @function\n"
        "onceguard_first_call:\n"
        "  .cfi_startproc\n"
        "  push %rbp\n"
        "  .cfi_def_cfa_offset 16\n"
        "  .cfi_offset %rbp, -16\n"
        "  mov %rsp, %rbp\n"
        "  .cfi_def_cfa_register %rbp\n"
        "  sub $192, %rsp\n"
        "  mov %rdi, 0(%rsp)\n"
        "  mov %rsi, 8(%rsp)\n"
        "  mov %rdx, 16(%rsp)\n"
        "  mov %rcx, 24(%rsp)\n"
        "  mov %r8, 32(%rsp)\n"
        "  mov %r9, 40(%rsp)\n"
        "  mov %rax, 48(%rsp)\n" /* of a variadic function: how many vector registers count */
        "  mov %r10, 56(%rsp)\n"
        "  movups %xmm0, 64(%rsp)\n"
        "  movups %xmm1, 80(%rsp)\n"
        "  movups %xmm2, 96(%rsp)\n"
        "  movups %xmm3, 112(%rsp)\n"
        "  movups %xmm4, 128(%rsp)\n"
        "  movups %xmm5, 144(%rsp)\n"
        "  movups %xmm6, 160(%rsp)\n"
        "  movups %xmm7, 176(%rsp)\n"
        "  mov %r11, %rdi\n"
        "  call onceguard_find_late_function@PLT\n"
        "  mov %rax, %r11\n"
        "  mov 0(%rsp), %rdi\n"
        "  mov 8(%rsp), %rsi\n"
        "  mov 16(%rsp), %rdx\n"
        "  mov 24(%rsp), %rcx\n"
        "  mov 32(%rsp), %r8\n"
        "  mov 40(%rsp), %r9\n"
        "  mov 48(%rsp), %rax\n"
        "  mov 56(%rsp), %r10\n"
        "  movups 64(%rsp), %xmm0\n"
        "  movups 80(%rsp), %xmm1\n"
        "  movups 96(%rsp), %xmm2\n"
        "  movups 112(%rsp), %xmm3\n"
        "  movups 128(%rsp), %xmm4\n"
        "  movups 144(%rsp), %xmm5\n"
        "  movups 160(%rsp), %xmm6\n"
        "  movups 176(%rsp), %xmm7\n"
        "  leave\n"
        "  .cfi_def_cfa %rsp, 8\n"
        "  jmp *%r11\n"
        "  .cfi_endproc\n"
        ".size onceguard_first_call, . - onceguard_first_call\n"
        ".popsection\n");
