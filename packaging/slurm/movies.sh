#!/bin/bash
# Many movies, each on one node: sbatch --array=1-20 movies.sh results day1/*.tif, where 20 is the number of movies
#SBATCH --job-name=localize
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=16
#SBATCH --gpus-per-task=1
#SBATCH --time=02:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=USR1@120

out=$1
shift
export GLINT_THREADS=$SLURM_CPUS_PER_TASK
srun glint localize "${!SLURM_ARRAY_TASK_ID}" -o "$out/" --sigma 130nm --camera camera.toml --resume
