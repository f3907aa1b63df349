#!/bin/bash
# One movie on several nodes: sbatch localize.sh movie.tif locs.hdf5
#SBATCH --job-name=localize
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-node=2
#SBATCH --time=02:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=USR1@120

export GLINT_ISA=avx2   # if CPUs of the nodes differ: the same instruction set gives byte-identical results
srun --kill-on-bad-exit=1 --cpu-bind=cores glint-mpi localize "$1" -o "$2" \
    --sigma 130nm --camera camera.toml --resume
