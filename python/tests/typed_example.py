"""What a program of a user looks like to type checkers (test_types.py); it is not run."""

import numpy as np

import glint

psf = glint.GaussianXYNB(sigma_nm=130)
camera = glint.IdealCamera(pixel_size_nm=100, offset=100, gain=0.5)
movie, truth = glint.simulate(psf, camera, frames=50, seed=1)
locs = glint.localize(movie, psf, camera)
good = locs[locs.p_value > 1e-3]
x: np.ndarray = good.x_px
good.photons = 2 * good.photons
good["mine"] = x
glint.render(good, "picture.png", overwrite=True)
score = glint.score(good, truth)
print(score.recall, len(good), good.x_nm.mean(), good.info.frames if good.info else 0)
spots = glint.detect(movie, psf, camera)
rois = glint.cut_rois(movie, spots, 7)
fits = glint.fit(rois, psf, camera)
print(fits.converged.mean(), fits.info.device, fits.to_localizations())
table, info = locs.to_picasso()
with glint.Fitter() as fitter:
    fitter.fit(rois, psf, camera)
opened = glint.open_movie("movie.tif")
print(opened[0].shape, opened.shape[0])
glint.save("l.hdf5", locs, overwrite=True)
back = glint.load_localizations("l.hdf5")
merged = glint.merge([back, "l.hdf5"], consecutive=True)
frame = glint.filter(merged, "photons > 500", "lpx_nm < 20").to_pandas()
cam = glint.load_camera("camera.toml")
cal = glint.calibrate_astigmatism("beads.tif", camera, z_step_nm=20)
print(cal.psf.sigma_x_nm(100), cam)
with glint.gpu.lease_or_none("1GiB", timeout=0) as lease:
    print(lease)
with glint.offload.Session("cpu") as session:
    print(glint.offload.sum([1.0, 2.0], session=session), session.backend)
there: glint.gpu.DeviceArray = 2 * glint.gpu.to_device(x) + x
there[there > 1] = 0
root: glint.gpu.DeviceArray = glint.arrays.sqrt(there.T @ there).mean(axis=0)
print(root[::-1].to_numpy().sum(), glint.arrays.sort(root), float(there.sum()))
