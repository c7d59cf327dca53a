"""Derives the polynomial coefficients of src/core/math with a weighted Remez exchange (needs mpmath).

    python3 fit_coefficients.py [name ...]    prints each polynomial, lowest power first, and its largest error

The weight of a fit is what turns an error of the polynomial into a relative error of the function.
"""
import struct
import sys

from mpmath import (asin, atan, atanh, besseli, besselj, besseljzero, besselk, bessely, cos, erf, erfc, euler, exp, expm1, log,
                    loggamma, lu_solve, matrix, mp, mpf, pi, polyval, sin, sqrt, tanh, zeta)

mp.dps = 50
TINY = mpf(10) ** -9
HALF_LN2 = log(mpf(2)) / 2 + mpf("0.0005")
LOG_Z = (3 - 2 * sqrt(mpf(2))) ** 2 * mpf("1.001")
QUARTER_PI_SQUARED = (pi / 4 + mpf("0.001")) ** 2


def remez(f, weight, a, b, degree, rounds=12):
    """The polynomial that minimises the largest |weight (f - p)| on [a, b], and that error."""
    a, b, points = mpf(a), mpf(b), degree + 2
    node = lambda i, n: (a + b) / 2 - (b - a) / 2 * cos(pi * i / n)
    xs = [node(i, points - 1) for i in range(points)]
    grid = [node(i, 30 * points) for i in range(30 * points + 1)]
    values, weights = [f(x) for x in grid], [weight(x) for x in grid]
    for _ in range(rounds):
        system, right = matrix(points, points), matrix(points, 1)
        for i, x in enumerate(xs):
            for j in range(degree + 1):
                system[i, j] = x ** j
            system[i, degree + 1] = (-1) ** i / weight(x)
            right[i] = f(x)
        solution = lu_solve(system, right)
        p = [solution[j] for j in range(degree + 1)]
        errors = [w * (v - polyval(p[::-1], x)) for x, v, w in zip(grid, values, weights)]
        peaks = []
        for i, e in enumerate(errors):
            if peaks and (errors[peaks[-1]] > 0) == (e > 0):
                if abs(e) > abs(errors[peaks[-1]]):
                    peaks[-1] = i
            else:
                peaks.append(i)
        while len(peaks) > points:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        largest = max(abs(e) for e in errors)
        if len(peaks) < points or largest < abs(solution[degree + 1]) * mpf("1.02"):
            break
        xs = [grid[i] for i in peaks]
    return p, largest


def odd(f, series):
    """(f(r) - r)/r^3 as a function of z = r^2, by its series near zero."""
    def g(z):
        r = sqrt(z)
        return polyval(series[::-1], z) if z < TINY else (f(r) - r) / (r * z)
    return g


def over_r(f, limit):
    """f(r)/r as a function of z = r^2."""
    return lambda z: limit if z < mpf(10) ** -40 else f(sqrt(z)) / sqrt(z)


def exp_rest(r):
    return mpf(1) / 2 + r / 6 + r * r / 24 if abs(r) < TINY else (expm1(r) - r) / r ** 2


def cos_rest(z):
    return mpf(1) / 24 - z / 720 + z * z / 40320 if z < TINY else (cos(sqrt(z)) - 1 + z / 2) / z ** 2


def log_rest(f):
    return mpf(1) / 3 - f / 4 + f * f / 5 - f ** 3 / 6 if abs(f) < TINY else (log(1 + f) - f + f * f / 2) / f ** 3


def log_ratio(z):
    """(log((1 + s)/(1 - s)) - 2 s)/s^3."""
    return mpf(2) / 3 + z * 2 / 5 + z * z * 2 / 7 if z < TINY else (2 * atanh(sqrt(z)) - 2 * sqrt(z)) / (sqrt(z) * z)


def log_ratio_tail(z):
    series = [mpf(2) / 5, mpf(2) / 7, mpf(2) / 9, mpf(2) / 11]
    return polyval(series[::-1], z) if z < TINY else (log_ratio(z) - mpf(2) / 3) / z


def erfc_step(u):
    at = mpf(3) / 4
    slope = -2 / sqrt(pi) * exp(-at * at)
    return slope * (1 - at * u) if abs(u) < mpf(10) ** -18 else (erfc(at + u) - erfc(at)) / u


def erfc_scaled(t):
    x = 2 * (1 + t) / (1 - t)
    return erfc(x) * exp(x * x) * x


def erfinv_ratio(w):
    """erfinv(x)/x with w = -log(1 - x^2), by Newton's method on erfc."""
    if w < mpf(10) ** -20:
        return sqrt(pi) / 2
    x = sqrt(-expm1(-w))
    target = exp(-w) / (1 + x)
    y = sqrt(max(w - log(1 + sqrt(w)), mpf("0.1"))) if w > 3 else x
    for _ in range(60):
        d = (erfc(y) - target) / (2 / sqrt(pi) * exp(-y * y))
        d = d / (1 + y * d) if abs(y * d) < 0.5 else d / 2
        y += d
        if abs(d) < mpf(10) ** -36:
            break
    return y / x


def lgamma_near_two(w):
    return 1 - euler + (zeta(2) - 1) / 2 * w if abs(w) < mpf(10) ** -15 else loggamma(2 + w) / w


def stirling(z):
    if z < mpf(10) ** -10:
        return mpf(1) / 12 - z / 360 + z * z / 1260
    x = 1 / sqrt(z)
    return (loggamma(x) - (x - mpf(1) / 2) * log(x) + x - log(2 * pi) / 2) * x


def bessel_far(f, sign, limit):
    """sqrt(x) e^(sign x) f(x) as a function of u = 1/x."""
    return lambda u: limit if u < mpf(10) ** -30 else exp(sign / u) * f(1 / u) / sqrt(u)


def bessel_wave(order, part):
    """Hankel's P (part 0) and x Q (part 1) as functions of 1/x^2: J = sqrt(2/(pi x)) (P cos - Q sin) of x - (n/2 + 1/4) pi."""
    def g(v):
        if v < mpf(10) ** -24:
            return mpf(4 * order * order - 1) / 8 if part else mpf(1)
        x = 1 / sqrt(v)
        angle = x - (mpf(order) / 2 + mpf(1) / 4) * pi
        j, y, s = besselj(order, x), bessely(order, x), sqrt(pi * x / 2)
        return s * (y * cos(angle) - j * sin(angle)) * x if part else s * (j * cos(angle) + y * sin(angle))
    return g


def bessel_j_near(order, n_zeros):
    """J(x) / x^n without its first zeros, as a function of x^2 - 32."""
    zeros = [besseljzero(order, k) ** 2 for k in range(1, n_zeros + 1)]

    def g(t):
        z = t + 32
        z += mpf(10) ** -18 if min(abs(z - r) for r in zeros) < mpf(10) ** -20 or z == 0 else 0
        y = besselj(order, sqrt(z)) / sqrt(z) ** order
        for r in zeros:
            y /= z - r
        return y
    return g


def bessel_y_near(order):
    """(Y(x) - 2/pi (J(x) log(x) - n / x)) / x^n as a function of x^2 - 32."""
    def g(t):
        z = max(t + 32, mpf(10) ** -20)
        x = sqrt(z)
        return (bessely(order, x) - 2 / pi * (besselj(order, x) * log(x) - order / x)) / x ** order
    return g


one = lambda x: mpf(1)
power = lambda n: lambda x: x ** n + mpf("1e-30")
inverse = lambda f: lambda x: 1 / f(x)
sin_pi = over_r(lambda r: sin(pi * r), pi)
sin_turn = over_r(lambda r: sin(2 * pi * r), 2 * pi)
erf_part = lambda z: over_r(erf, 2 / sqrt(pi))(z) - 1

# name: (function, weight, from, to, degree, float?)
FITS = {
    "exp_f64": (exp_rest, power(2), -HALF_LN2, HALF_LN2, 9, False),
    "exp_f32": (exp_rest, power(2), -HALF_LN2, HALF_LN2, 4, True),
    "exp_wide_f32": (exp_rest, power(2), -HALF_LN2, HALF_LN2, 5, False),
    "log_f64": (log_ratio, power(1), 0, LOG_Z, 6, False),
    "log_wide_f32": (log_ratio, power(1), 0, LOG_Z, 3, False),
    "log_double2": (log_ratio_tail, power(2), 0, "0.0104", 6, False),
    "log_f32": (log_rest, power(2), "-0.2931", "0.4144", 8, True),
    "tanh_f32": (odd(tanh, [-mpf(1) / 3, mpf(2) / 15, -mpf(17) / 315]), power(1), 0, "0.3907", 5, True),
    "sin_f64": (odd(sin, [-mpf(1) / 6, mpf(1) / 120, -mpf(1) / 5040]), power(1), 0, QUARTER_PI_SQUARED, 5, False),
    "cos_f64": (cos_rest, power(2), 0, QUARTER_PI_SQUARED, 5, False),
    "sin_turns": (sin_pi, inverse(sin_pi), 0, "0.2505", 5, False),
    "sin_turn_f64": (sin_turn, inverse(sin_turn), 0, "0.0626", 9, False),
    "cos_turn_f32": (sin_turn, inverse(sin_turn), 0, "0.0626", 5, True),
    "atan_f64": (odd(atan, [-mpf(1) / 3, mpf(1) / 5, -mpf(1) / 7]), power(1), 0, "0.1915", 10, False),
    "asin_f64": (odd(asin, [mpf(1) / 6, mpf(3) / 40, mpf(15) / 336]), power(1), 0, "0.2501", 12, False),
    "erf_f64": (erf_part, one, 0, "0.2501", 9, False),
    "erf_f32_near": (erf_part, one, 0, 1, 6, True),
    "erf_f32_far": (lambda x: log(erfc(x)), lambda x: erfc(x) / erf(x), 1, 4, 7, True),
    "erfc_middle": (erfc_step, one, "-0.2505", "0.2505", 13, False),
    "erfc_tail": (erfc_scaled, inverse(erfc_scaled), "-0.3339", "0.8667", 21, False),
    "erfinv_central": (lambda t: erfinv_ratio(t + mpf("2.5")), one, "-2.5", "2.51", 16, False),
    "erfinv_middle": (lambda t: erfinv_ratio((t + mpf("3.125")) ** 2), one, "-0.8913", "0.875", 14, False),
    "erfinv_tail": (lambda t: erfinv_ratio((t + 5) ** 2), one, "-1.01", "1.1", 12, False),
    "lgamma": (lgamma_near_two, one, "-0.501", "0.601", 18, False),
    "bessel_i0_far": (bessel_far(lambda x: besseli(0, x), -1, 1 / sqrt(2 * pi)), one, 0, mpf(1) / 15, 14, False),
    "bessel_i1_far": (bessel_far(lambda x: besseli(1, x), -1, 1 / sqrt(2 * pi)), one, 0, mpf(1) / 15, 14, False),
    "bessel_k0_far": (bessel_far(lambda x: besselk(0, x), 1, sqrt(pi / 2)), one, 0, mpf(1) / 2, 24, False),
    "bessel_k1_far": (bessel_far(lambda x: besselk(1, x), 1, sqrt(pi / 2)), one, 0, mpf(1) / 2, 24, False),
    "bessel_p0": (bessel_wave(0, 0), one, 0, mpf(1) / 64, 12, False),
    "bessel_q0": (bessel_wave(0, 1), one, 0, mpf(1) / 64, 14, False),
    "bessel_p1": (bessel_wave(1, 0), one, 0, mpf(1) / 64, 12, False),
    "bessel_q1": (bessel_wave(1, 1), one, 0, mpf(1) / 64, 14, False),
    "bessel_j0_near": (bessel_j_near(0, 3), inverse(bessel_j_near(0, 3)), -32, 32, 13, False),
    "bessel_j1_near": (bessel_j_near(1, 2), inverse(bessel_j_near(1, 2)), -32, 32, 14, False),
    "bessel_y0_near": (bessel_y_near(0), one, -32, 32, 17, False),
    "bessel_y1_near": (bessel_y_near(1), one, -32, 32, 17, False),
    "stirling": (stirling, one, 0, mpf(1) / 64, 6, False),
}


def main():
    for name in sys.argv[1:] or FITS:
        f, weight, a, b, degree, single = FITS[name]
        p, error = remez(f, weight, a, b, degree)
        print("%s: error 2^%.1f" % (name, float(log(error, 2))))
        for c in p:
            print("    " + ("%.9gf" % struct.unpack("f", struct.pack("f", float(c))) if single else "%.17g" % float(c)))


if __name__ == "__main__":
    main()
