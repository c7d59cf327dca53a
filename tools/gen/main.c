/* kiln-gen: writes the generated C files of the library from the op rows. Run it in the repository's root. */
#include "gen.h"
#include "gen_body.h"

int main(void)
{
    if (!gen_parse_bodies()) return 1;
    if (gen_slopes()) return 1;
    return gen_compact() | gen_elementwise() | gen_lines() | gen_update() | gen_made_rows();
}
