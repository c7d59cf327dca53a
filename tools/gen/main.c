/* kiln-gen: writes the generated C files of the library from the op rows. Run it in the repository's root. */
#include "gen.h"

int main(void) { return gen_elementwise(); }
