"""A model that is only registered has its class in Python."""
import glint
import numpy as np
import pytest


@pytest.mark.parametrize("name,numbers,free", [("EllipticXYNBQ", dict(ratio=1.4), "q"), ("CorrelatedXYNBR", {}, "r")])
@pytest.mark.parametrize("backend", ["auto", "cpu"])
def test_fit(name, numbers, free, backend):
    psf = getattr(glint, name)(sigma_um=0.12, **numbers)
    camera = glint.IdealCamera(pixel_size_um=0.1)
    rois, truth = glint.simulate_rois(2000, psf, camera, size=11, photons=(2000, 2000), background=5)
    fits = glint.fit(rois, psf, camera, backend=backend)
    good = np.asarray(fits.status) == glint.FitStatus.CONVERGED
    assert good.mean() > 0.99
    pull = (np.asarray(getattr(fits, free)) - np.asarray(getattr(truth, free)))[good] / np.asarray(getattr(fits, f"{free}_unc"))[good]
    assert abs(pull.std() - 1) < 4 / np.sqrt(2 * good.sum()) + 0.02  # the CRLB is that of the fit, not of the truth


def test_what_it_is():
    psf = glint.EllipticXYNBQ(sigma_px=1.2)
    assert psf.ratio == 1.5 and repr(psf) == "EllipticXYNBQ(sigma_px=1.2, ratio=1.5)"
    assert "ratio" in glint.EllipticXYNBQ.__doc__
    with pytest.raises(glint.OptionError, match="ratio.*9"):
        glint.fit(np.zeros((1, 7, 7), np.float32), glint.EllipticXYNBQ(sigma_px=1.2, ratio=9))
