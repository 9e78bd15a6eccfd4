// The program; everything it does is in the library beside it, but for how signals end it.
#include <signal.h>
#include <unistd.h>

#include "scenarios/commands.hpp"

namespace {

// Until results are being written there is nothing to keep.
void end_at_once(int) {
  constexpr char text[] = "refrain: interrupted\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  _exit(130);
}

}  // namespace

#ifdef __SANITIZE_ADDRESS__
// A fault that the sanitizer sees is a crash like any other, also to who waits for this process.
extern "C" const char* __asan_default_options() {
  return "abort_on_error=1";
}
#endif

int main(int count, char** words) {
  signal(SIGINT, end_at_once);
  signal(SIGTERM, end_at_once);
  signal(SIGXFSZ, SIG_IGN);  // a file too large is an error of its write
  return refrain::run_program({words + 1, words + count});
}
