// The program; everything it does is in the library beside it.
#include "scenarios/commands.hpp"

int main(int count, char** words) {
  return refrain::run_program({words + 1, words + count});
}
