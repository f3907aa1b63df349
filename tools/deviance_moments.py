#!/usr/bin/env python3
"""Writes src/microscopy/fit/deviance_moments.hpp: mean and variance of one pixel's deviance, as polynomials
(docs/explanation/theory.md, 4).

A pixel is d' = max(0, d / F^2 + v / F^4) where d is Poisson (or, F^2 = 2, gamma-multiplied Poisson) plus normal read
noise of variance v; the model is m = mu / F^2 + v / F^4. Its deviance is 2 (m - d' + d' log(d' / m)). Mean and variance
are integrated numerically on a grid of (mu, v) and fitted by least squares of relative error in t = 1 / (1 + m) and
s = sqrt(v / F^4 / m). Needs NumPy and SciPy:  tools/deviance_moments.py > src/microscopy/fit/deviance_moments.hpp
"""

import numpy as np
from scipy.special import gammaln, i1e, xlogy
from scipy.stats import norm

MU = np.exp(np.linspace(np.log(0.1), np.log(300), 26))
V = np.array([0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1, 1.6, 2.5, 4, 7, 12, 25, 60, 150, 400.0])

BRIGHT = 5


def deviance(d, m):
    d = np.maximum(d, 0.0)
    return 2 * (m - d + np.where(d > 0, d * np.log(np.maximum(d, 1e-300) / m), 0))


def moments(values, weights):
    mean = (weights * values).sum()
    return mean, (weights * values**2).sum() - mean**2


def normal(limit, points):
    g = np.linspace(-limit, limit, points)
    w = norm.pdf(g)
    return g, w / w.sum()


def photons(mu):
    k = np.arange(0, int(mu + 12 * np.sqrt(mu) + 30))
    return k.astype(float), np.exp(xlogy(k, mu) - mu - gammaln(k + 1))


def multiplied(mu):
    """Poisson electrons through a long EM register, per unit gain: an atom at 0 and a Bessel density."""
    x = (np.arange(6000) + 0.5) * (mu + 12 * np.sqrt(2 * mu) + 40) / 6000
    f = np.exp(-((np.sqrt(x) - np.sqrt(mu)) ** 2)) * np.sqrt(mu / x) * i1e(2 * np.sqrt(mu * x))
    return np.r_[0, x], np.r_[np.exp(-mu), f * (1 - np.exp(-mu)) / f.sum()]


def table(signal, excess, points):
    rows = []
    for mu in MU:
        x, p = signal(mu)
        for v in V:
            m = mu / excess + v / excess**2
            g, w = normal(8, points) if v > 0 else (np.zeros(1), np.ones(1))
            d = (x[:, None] + np.sqrt(v) * g) / excess + v / excess**2
            rows.append((m, v / excess**2 / m, *moments(deviance(d, m), p[:, None] * w)))
    return np.array(rows).T


def fit(m, r, y, limit, t_degree, s_degree):
    """Coefficients c[i][j] of limit + sum c[i][j] t^(i+1) s^j with the least relative error."""
    t, s = 1 / (1 + m), np.sqrt(r)
    a = np.stack([t ** (i + 1) * s**j for i in range(t_degree) for j in range(s_degree + 1)], -1)
    c = np.linalg.lstsq(a / y[:, None], (y - limit) / y, rcond=1e-12)[0]
    return c.reshape(t_degree, s_degree + 1)


def cpp(name, c, comment):
    shape = "".join(f"[{n}]" for n in c.shape)
    rows = ["{" + ", ".join(f"{x:.8g}f" for x in row) + "}" for row in np.atleast_2d(c)]
    body = ",\n    ".join(rows) if c.ndim == 2 else rows[0][1:-1]
    return f"/// {comment}\nGLINT_TABLE float {name}{shape} = {{\n    {body}}};\n"


def main():
    print("// Mean and variance of one pixel's deviance, as polynomials: written by tools/deviance_moments.py.")
    print('// SPDX-License-Identifier: MIT\n#pragma once\n\n#include "psf/lane.hpp"\n\nnamespace glint::GLINT_ISA {\n')
    poisson, em = table(photons, 1, 1601), table(multiplied, 2, 281)
    ideal = poisson[:, poisson[1] == 0]
    # Degrees in t and s: everywhere, then from `BRIGHT` photoelectrons up, where fewer terms do better.
    for name, rows, s_degree, t_degree, s_bright, mean_bright, variance_bright, what in (
        ("ideal", ideal, 0, 9, 0, 3, 4, "Poisson alone (v = 0)"),
        ("poisson", poisson, 3, 7, 2, 4, 3, "Poisson and read noise"),
        ("multiplied", em, 3, 7, 2, 4, 3, "EM register and read noise"),
    ):
        bright = rows[:, rows[0] > 0.95 * BRIGHT]
        for part, column, limit, degree in (("mean", 2, 1, mean_bright), ("variance", 3, 2, variance_bright)):
            for suffix, use, t_d, s_d in (("", rows, t_degree, s_degree), ("_bright", bright, degree, s_bright)):
                c = fit(use[0], use[1], use[column], limit, t_d, s_d)
                c = c[:, 0] if s_d == 0 else c
                print(
                    cpp(
                        f"{name}_{part}{suffix}",
                        c,
                        f"{what}{', bright' if suffix else ''}: {part} = {limit} + sum "
                        f"c[i]{'[j]' * (c.ndim - 1)} t^(i+1){' s^j' * (c.ndim - 1)}.",
                    )
                )
    print(f"constexpr float bright_model = {BRIGHT};  // m from which the tables named bright hold\n")
    print("}  // namespace glint::GLINT_ISA")


if __name__ == "__main__":
    main()
