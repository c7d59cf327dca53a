/* Shows ten test digits and what the network sees in them. All memory is static; the weights stay in flash. */
#include "board_output.h"
#include "test_digits.h"

enum { SIDE = 28, CLASSES = 10, NEEDED = 9 };

/* Of digits.c, which mnist_cortex_m has written; 0: the scores are filled in. */
int digits_run(const float *image, float *scores);

static float image[SIDE * SIDE], scores[CLASSES];

/* Two rows of pixels become one of characters. */
static void draw(const unsigned char *pixels)
{
    static const char shades[] = " .:-=+*#%@";
    char line[SIDE + 2] = {0};
    line[SIDE] = '\n';
    for (int row = 4; row < SIDE - 4; row += 2) {
        for (int column = 0; column < SIDE; column++)
            line[column] =
                shades[(pixels[row * SIDE + column] + pixels[(row + 1) * SIDE + column]) / 2 * 10 / 256];
        smoke_write(line);
    }
}

static int best(void)
{
    int digit = 0;
    for (int i = 1; i < CLASSES; i++)
        if (scores[i] > scores[digit]) digit = i;
    return digit;
}

/* What the network sees; -1 where it cannot run. The numbers are those of training: mean 0.1307, deviation 0.3081. */
static int classify(const unsigned char *pixels)
{
    for (int i = 0; i < SIDE * SIDE; i++) image[i] = ((float)pixels[i] / 255 - 0.1307f) / 0.3081f;
    return digits_run(image, scores) == 0 ? best() : -1;
}

/* "this is a 7, right" */
static void tell(int digit, int seen)
{
    char text[] = "this is a ?, ";
    text[10] = seen < 0 ? '?' : (char)('0' + seen);
    smoke_write(text);
    smoke_write(seen == digit ? "right\n" : "wrong\n");
}

int main(void)
{
    int right = 0;
    for (int digit = 0; digit < CLASSES; digit++) {
        int seen = classify(test_digits[digit]);
        draw(test_digits[digit]);
        tell(digit, seen);
        right += seen == digit;
    }
    char text[] = " ? of 10 right\n";
    if (right == CLASSES) text[0] = '1';
    text[1] = (char)('0' + right % 10);
    smoke_write(text);
    return right < NEEDED;
}
