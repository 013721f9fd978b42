// A shared library of functions that are easy and hard to probe. Compiled as the rules in BUILD
// say; the tests read its file, and some of them load it.
#include <cstdlib>

extern "C" {
int some_data = 7;
}

namespace shapes {

class Square {
 public:
  __attribute__((noinline)) int Area(int side) const;
  __attribute__((noinline)) int Area(int side, const char* unit) const;
};

int Square::Area(int side) const { return side * side; }
int Square::Area(int side, const char* unit) const { return side * side + unit[0]; }

template <typename T>
__attribute__((noinline)) T Twice(T value) {
  return value + value;
}
template int Twice<int>(int);
template double Twice<double>(double);

}  // namespace shapes

extern "C" {

__attribute__((noinline)) static int hidden_helper(int x) {
  asm volatile("");
  return x * 3;
}
int uses_helper(int x) { return hidden_helper(x) + 1; }

// Imported, not defined here.
int calls_another() { return std::rand(); }

int variant_a(int x) { return x + 1; }
int variant_b(int x) { return x + 2; }
using Variant = int (*)(int);
Variant choose_variant() { return &variant_b; }
int chosen_function(int x) __attribute__((ifunc("choose_variant")));
int calls_chosen(int x) { return chosen_function(x); }
}

// Exactly these instructions.
asm(R"(
  .macro FUNCTION name
  .p2align 4
  .globl \name
  .type \name, @function
  \name:
  .cfi_startproc
  .endm
  .macro END name
  .cfi_endproc
  .size \name, . - \name
  .endm

  .text
  FUNCTION pushes
  push %rbp
  mov %rsp, %rbp
  pop %rbp
  ret
  END pushes
  .globl also_pushes
  .type also_pushes, @function
  .set also_pushes, pushes
  .size also_pushes, 6

  FUNCTION compares_first
  cmpl $0, some_data@GOTPCREL(%rip)
  je 1f
  xor %eax, %eax
  1: ret
  END compares_first

  # Somebody jumps to the second instruction.
  FUNCTION entered_inside
  mov %edi, %eax
  2: test %eax, %eax
  je 1f
  dec %eax
  1: ret
  END entered_inside
  FUNCTION enters
  mov $5, %eax
  jmp 2b
  END enters

  # A jump table leads to the second instruction.
  FUNCTION table_leads_inside
  mov %edi, %ecx
  3: test %ecx, %ecx
  je 1f
  dec %ecx
  lea .Ltable(%rip), %rdx
  movslq (%rdx,%rcx,4), %rax
  add %rdx, %rax
  jmp *%rax
  1: ret
  END table_leads_inside
  .section .rodata
  .p2align 2
  .Ltable:
  .long 3b - .Ltable
  .long 1b - .Ltable
  .text

  FUNCTION loops_to_its_entry
  dec %edi
  jne loops_to_its_entry
  ret
  END loops_to_its_entry

  # The same by way of a cold part; and a call of another function at the end, which is no loop.
  FUNCTION loops_by_its_cold_part
  dec %edi
  jne cold_part
  ret
  END loops_by_its_cold_part
  FUNCTION cold_part
  nop
  jmp loops_by_its_cold_part
  END cold_part
  FUNCTION ends_in_a_call
  test %edi, %edi
  jne pushes
  jmp calls_itself
  END ends_in_a_call

  FUNCTION calls_itself
  test %edi, %edi
  je 1f
  dec %edi
  call calls_itself
  1: ret
  END calls_itself

  FUNCTION begins_with_nop5
  .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
  mov %edi, %eax
  je 1f
  1: ret
  END begins_with_nop5

  FUNCTION is_atomic
  lock incl (%rdi)
  je 1f
  1: ret
  END is_atomic

  # What others can see happens before the branch.
  FUNCTION stores_first
  movl $0, (%rdi)
  test %edi, %edi
  je 1f
  1: ret
  END stores_first

  FUNCTION asks_the_kernel
  mov $39, %eax
  syscall
  test %eax, %eax
  je 1f
  1: ret
  END asks_the_kernel

  # Falls into the next function, which has a name of its own.
  .p2align 4
  .globl falls_through
  .type falls_through, @function
  falls_through:
  mov %edi, %eax
  .globl is_fallen_into
  .type is_fallen_into, @function
  is_fallen_into:
  test %eax, %eax
  je 1f
  1: ret
  .size is_fallen_into, . - is_fallen_into
  .size falls_through, . - falls_through

  .globl without_size
  .type without_size, @function
  without_size:
  ret

  .globl without_type
  without_type:
  ret

  FUNCTION versioned_old
  push %rbx
  pop %rbx
  ret
  END versioned_old
  FUNCTION versioned_new
  push %rbp
  pop %rbp
  ret
  END versioned_new
  .symver versioned_old, versioned@V1
  .symver versioned_new, versioned@@V2
)");
