// Mean and variance of one pixel's deviance, as polynomials: written by tools/deviance_moments.py.
// SPDX-License-Identifier: MIT
#pragma once

#include "psf/lane.hpp"

namespace glint::GLINT_ISA {

/// Poisson alone (v = 0): mean = 1 + sum c[i] t^(i+1).
GLINT_TABLE float ideal_mean[9] = {0.18707888f, -0.30095679f, 2.5984861f, 54.953366f, -345.92383f,
                                   821.45138f,  -989.75829f,  607.38938f, -151.56648f};

/// Poisson alone (v = 0), bright: mean = 1 + sum c[i] t^(i+1).
GLINT_TABLE float ideal_mean_bright[3] = {0.17142211f, 0.11416629f, 3.1010376f};

/// Poisson alone (v = 0): variance = 2 + sum c[i] t^(i+1).
GLINT_TABLE float ideal_variance[9] = {1.5138673f,  -40.342267f, 618.75016f,  -3451.5025f, 9375.9884f,
                                       -14240.874f, 12447.76f,   -5868.7789f, 1156.295f};

/// Poisson alone (v = 0), bright: variance = 2 + sum c[i] t^(i+1).
GLINT_TABLE float ideal_variance_bright[4] = {0.66847587f, 2.1005431f, -2.4729704f, 169.90745f};

/// Poisson and read noise: mean = 1 + sum c[i][j] t^(i+1) s^j.
GLINT_TABLE float poisson_mean[7][4] = {
    {0.21100038f, -0.41104661f, 0.10797631f, 0.38480751f}, {-1.4466067f, 14.189794f, 2.0691365f, -4.5981173f},
    {19.583208f, -115.30064f, 14.482668f, 2.8707507f},     {-63.692457f, 252.87714f, 69.614278f, -50.74333f},
    {85.277438f, -199.17412f, -373.1841f, 214.99213f},     {-53.10845f, 19.328836f, 496.15906f, -286.37848f},
    {12.26781f, 29.033808f, -210.71314f, 124.5315f}};

/// Poisson and read noise, bright: mean = 1 + sum c[i][j] t^(i+1) s^j.
GLINT_TABLE float poisson_mean_bright[4][3] = {{0.17631991f, -0.0011692725f, 0.30923405f},
                                               {-0.22227939f, -0.44943063f, 2.6163172f},
                                               {9.142876f, 9.4256885f, -2.6510126f},
                                               {-33.029481f, -20.705149f, -81.869354f}};

/// Poisson and read noise: variance = 2 + sum c[i][j] t^(i+1) s^j.
GLINT_TABLE float poisson_variance[7][4] = {
    {0.25089706f, -4.6494956f, 11.677253f, -3.747867f}, {8.9635429f, 175.13561f, -173.09555f, 164.08339f},
    {39.725008f, -1943.9209f, 2373.2344f, -2247.9872f}, {-424.93027f, 7486.3624f, -10742.272f, 10087.544f},
    {950.59938f, -13179.856f, 21478.97f, -20414.707f},  {-846.82178f, 11027.131f, -20080.505f, 19448.766f},
    {271.61526f, -3579.9901f, 7204.8558f, -7112.8164f}};

/// Poisson and read noise, bright: variance = 2 + sum c[i][j] t^(i+1) s^j.
GLINT_TABLE float poisson_variance_bright[3][3] = {{0.53628828f, -1.350703f, 4.9507346f},
                                                   {7.8548247f, 18.687058f, 82.015974f},
                                                   {-30.858538f, -17.823827f, -539.46137f}};

/// EM register and read noise: mean = 1 + sum c[i][j] t^(i+1) s^j.
GLINT_TABLE float multiplied_mean[7][4] = {
    {-0.0042711338f, -0.0093189694f, -0.48010371f, 0.77786599f}, {0.2208954f, -2.7725153f, 31.660071f, -18.527552f},
    {-2.6378468f, 43.511306f, -234.3324f, 111.03315f},           {13.049677f, -200.79973f, 716.62558f, -300.91986f},
    {-31.832397f, 366.96774f, -1058.0796f, 405.81038f},          {32.781573f, -299.46965f, 757.5086f, -267.69073f},
    {-12.518057f, 92.539369f, -212.43374f, 69.033118f}};

/// EM register and read noise, bright: mean = 1 + sum c[i][j] t^(i+1) s^j.
GLINT_TABLE float multiplied_mean_bright[4][3] = {{0.011221864f, 0.005693826f, 0.46564696f},
                                                  {-0.61276139f, -0.42109315f, 3.1033294f},
                                                  {9.0967163f, -0.27973211f, 4.3314735f},
                                                  {-41.627987f, 75.502559f, -157.33349f}};

/// EM register and read noise: variance = 2 + sum c[i][j] t^(i+1) s^j.
GLINT_TABLE float multiplied_variance[7][4] = {
    {-0.18122692f, -7.2406281f, 18.138081f, -5.4523598f}, {-2.7602369f, 138.58128f, -114.71369f, 95.096739f},
    {12.435866f, -843.9039f, 579.5204f, -980.74053f},     {-40.773279f, 2357.5294f, -2156.7661f, 4060.1246f},
    {47.404997f, -3396.8381f, 4356.3133f, -7861.2207f},   {-6.5987157f, 2485.2577f, -4268.9412f, 7212.5807f},
    {-10.681083f, -736.36372f, 1599.141f, -2535.8145f}};

/// EM register and read noise, bright: variance = 2 + sum c[i][j] t^(i+1) s^j.
GLINT_TABLE float multiplied_variance_bright[3][3] = {{-0.31112693f, -1.0266483f, 5.7950195f},
                                                      {0.79440463f, -3.8788946f, 99.829205f},
                                                      {-16.766886f, 170.52186f, -680.37739f}};

constexpr float bright_model = 5;  // the tables named bright hold from this m on

}  // namespace glint::GLINT_ISA
