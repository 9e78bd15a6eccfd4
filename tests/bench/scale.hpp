// How the program scales: time and memory over the length of a trace, and contenders over cores.
#pragma once

namespace refrain {

/// Runs the program itself on tests/bench/scale.toml and prints the ratios.
void bench_scale();

}  // namespace refrain
