// A C program with an interpreter in it.
//
//   embeds SCRIPT                        built with -DLINKED against the libpython that runs SCRIPT
//   embeds SCRIPT {LIBRARY HOME}...      runs SCRIPT in the first library; starts the interpreters
//   of the others,
//                                        but not of one whose HOME is "-"
//
// Without Python's headers: what it calls is the same in each version.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char run_script[] =
    "import os, sys\n"
    "script = os.environ['EMBEDS_SCRIPT']\n"
    "sys.argv = [script]\n"
    "sys.path.insert(0, os.path.dirname(script))\n"
    "exec(compile(open(script, encoding='utf-8').read(), script, 'exec'))\n";

#ifdef LINKED
void Py_Initialize(void);
int PyRun_SimpleString(const char*);

static int run(char** argv) {
  (void)argv;
  Py_Initialize();
  return PyRun_SimpleString(run_script);
}
#else
static void* checked(void* pointer) {
  if (pointer != NULL) return pointer;
  fprintf(stderr, "%s\n", dlerror());
  exit(2);
}

static void start(void* library, const char* home) {
  if (strcmp(home, "-") == 0) return;
  setenv("PYTHONHOME", home, 1);
  void (*initialize)(void) = (void (*)(void))checked(dlsym(library, "Py_Initialize"));
  initialize();
}

static int run(char** libraries) {
  // Extension modules look for the interpreter among the global symbols; the others must not.
  void* first = checked(dlopen(libraries[0], RTLD_NOW | RTLD_GLOBAL));
  for (char** other = libraries + 2; *other != NULL; other += 2) {
    start(checked(dlopen(other[0], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND)), other[1]);
  }
  start(first, libraries[1]);
  int (*run_string)(const char*) =
      (int (*)(const char*))checked(dlsym(first, "PyRun_SimpleString"));
  return run_string(run_script);
}
#endif

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setenv("EMBEDS_SCRIPT", argv[1], 1);
  return run(argv + 2) == 0 ? 0 : 3;
}
