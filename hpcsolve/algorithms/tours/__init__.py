"""What several algorithms of tours share. No algorithm of its own.

cities.py   instances as kernels of tours have them
near.py     lists of near cities
k_opt.py    local search by k-exchanges on a device (kernels: cuda_src/tours/k_opt.cu)
"""
