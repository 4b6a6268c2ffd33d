/** What the chips' files say in English, in Italian; loaded for readers of Italian alone. Titles of documents stay as they are. */

/** Notes that differ in numbers alone; `#` is a number, which the translation takes over in its own writing. */
export const PATTERNS: readonly (readonly [english: string, italian: string])[] = [
  ['# SMs x # B a clock (# banks of # B) x # GHz', '# SM x # B per ciclo (# banchi da # B) x # GHz'],
  ['# SMs x # KiB', '# SM x # KiB'],
  ['# SMs x # Ki registers x # B', '# SM x # Ki registri x # B'],
  ['# CUs x # B a clock of LDS x # GHz', '# CU x # B di LDS per ciclo x # GHz'],
  [
    '# CUs x # KiB of VGPRs, half of them accumulation registers',
    '# CU x # KiB di VGPR, metà dei quali registri di accumulo',
  ],
  ['# CUs x # KiB of LDS', '# CU x # KiB di LDS'],
  ['# MiB a core', '# MiB per core'],
  ['# MiB of VMEM', '# MiB di VMEM'],
  ['# MiB of VMEM a core', '# MiB di VMEM per core'],
  ['# CUDA cores of # an SM, # tensor cores', '# core CUDA, # per SM, # tensor core'],
  ['# CUDA cores of # an SM', '# core CUDA, # per SM'],
  ['# of # SMs on each of two dies', '# SM su # in ciascuno dei due die'],
  ['# channels of DDR5-4800', '# canali di DDR5-4800'],
  ['# bits at # Gb/s', '# bit a # Gb/s'],
  ["# bits at the driver's # MHz", '# bit ai # MHz che dà il driver'],
  ['#/# of the float32 rate', '#/# del ritmo di float32'],
  [
    '#/# of the float32 rate as on every GA102; one public table says #/# (# GFLOP/s)',
    '#/# del ritmo di float32, come su ogni GA102; una tabella pubblica dice #/# (# GFLOP/s)',
  ],
  ['# bits of HBM2 at # MHz', '# bit di HBM2 a # MHz'],
  ['# bits of HBM2e at # MHz', '# bit di HBM2e a # MHz'],
  [
    '# bits of HBM2e at # MHz; tables that say # quote the SXM module',
    '# bit di HBM2e a # MHz; le tabelle che dicono # riportano il modulo SXM',
  ],
  ['GDDR6X, # bits at # Gb/s', 'GDDR6X, # bit a # Gb/s'],
  ['GDDR7, # bits at # Gb/s', 'GDDR7, # bit a # Gb/s'],
  ['# pJ a bit, the memory devices alone', '# pJ per bit, le sole memorie'],
  ['# pJ a bit, the memory devices alone; a HBM2E figure', '# pJ per bit, le sole memorie; è un dato della HBM2E'],
  [
    'argued, not published: # operands x # B x # float32 lanes an SM a clock',
    'dedotto, non pubblicato: # operandi x # B x # corsie float32 per SM e ciclo',
  ],
  [
    'argued, not published: # operands x # B x # lanes a core a clock',
    'dedotto, non pubblicato: # operandi x # B x # corsie per core e ciclo',
  ],
  [
    'argued, not published: # operands x # B x # packed float32 lanes a CU a clock',
    'dedotto, non pubblicato: # operandi x # B x # corsie float32 appaiate per CU e ciclo',
  ],
  ['argued: # FMA units x # operands x # B a core a clock', 'dedotto: # unità FMA x # operandi x # B per core e ciclo'],
  [
    'measured on the RTX 4090 (# channels), scaled to # memory channels and this clock',
    'misurato sulla RTX 4090 (# canali), riportato a # canali di memoria e a questo clock',
  ],
  ['# cores with four #x# matrix units each', '# core con quattro unità matriciali #x# ciascuno'],
  ['# cores with two #x# matrix units each', '# core con due unità matriciali #x# ciascuno'],
  ['# cores with one #x# matrix unit each', '# core con una unità matriciale #x# ciascuno'],
  ['one core with four #x# matrix units', 'un core con quattro unità matriciali #x#'],
  ['one #x# matrix unit', 'una unità matriciale #x#'],
  ['# registers of # B a core', '# registri da # B per core'],
  ['# registers of # B and # tiles of # KiB a core', '# registri da # B e # tile da # KiB per core'],
  [
    'with float32 accumulation, which a GeForce runs at half rate; # TFLOP/s when it accumulates in float16',
    'con accumulo in float32, che una GeForce esegue a metà ritmo; # TFLOP/s quando accumula in float16',
  ],
];

const NOTES: Readonly<Record<string, string>> = {
  'The 150 W limit holds sustained clocks well below the boost clock':
    'Il limite di 150 W tiene i clock sostenuti ben sotto il clock di boost',
  'The A10G of some clouds is another card: 35 TFLOP/s float32 and 70 TFLOP/s float16':
    "L'A10G di alcuni cloud è un'altra scheda: 35 TFLOP/s in float32 e 70 TFLOP/s in float16",
  'No FP8: tables in the wild that give the A100 624 TFLOP/s of FP8 repeat the int8 figure, or the float16 one with 2:4 sparsity':
    "Niente FP8: le tabelle in circolazione che danno all'A100 624 TFLOP/s in FP8 ripetono il dato di int8, o quello di float16 con sparsità 2:4",
  'A100 variants differ in DRAM and power alone: 1.555 TB/s (40 GB), 1.935 (80 GB PCIe), 2.039 (80 GB SXM), so the float16 knee is 201, 161 or 153 FLOP/B':
    "Le varianti dell'A100 differiscono solo per DRAM e potenza: 1,555 TB/s (40 GB), 1,935 (80 GB PCIe), 2,039 (80 GB SXM), quindi il ginocchio di float16 è 201, 161 o 153 FLOP/B",
  'Accumulators live in tensor memory, 256 KB an SM, not in registers; two SMs may share one 256x256x16 instruction (tcgen05, cta_group 2)':
    "Gli accumulatori stanno nella tensor memory, 256 KB per SM, non nei registri; due SM possono condividere un'istruzione 256x256x16 (tcgen05, cta_group 2)",
  "Many tables print sparse figures as dense ones (4,500 float16, 9,000 FP8), or the 1,200 W GB200's (2,500 and 5,000 dense)":
    'Molte tabelle stampano dati sparsi come densi (4.500 in float16, 9.000 in FP8), o quelli del GB200 da 1.200 W (2.500 e 5.000 densi)',
  "Levels by role, not by name: `l2` is the last-level cache that all cores share (L3), `shared` the cores' private L2 together, where a packed tile of A lives as a GPU's lives in shared memory":
    "Livelli per ruolo, non per nome: `l2` è la cache di ultimo livello che tutti i core condividono (L3), `shared` l'insieme delle L2 private dei core, dove sta una tessera impacchettata di A come quella di una GPU sta nella memoria condivisa",
  'No matrix unit: every format runs on the vector lanes':
    'Nessuna unità matriciale: ogni formato gira sulle corsie vettoriali',
  'Two clocks: tensor cores are rated at 1.62 GHz and the rest at 1.755 GHz, so the tensor/vector ratio is 16 a clock and 14.8 in peaks':
    'Due clock: i tensor core sono dati a 1,62 GHz e il resto a 1,755 GHz, quindi il rapporto fra tensor core e corsie è 16 per ciclo e 14,8 nei picchi',
  'Data sheets print the sparse figures in the large type (1,513 float16, 3,026 FP8); the peaks here are the dense halves':
    'Le schede tecniche stampano in grande i dati sparsi (1.513 in float16, 3.026 in FP8); i picchi qui sono le metà dense',
  '350 W: clocks down to 1.4 GHz were seen under bandwidth tests':
    '350 W: sotto prove di banda si sono visti clock scesi fino a 1,4 GHz',
  'Two clocks: tensor cores are rated at 1.83 GHz and the rest at 1.98 GHz, so the tensor/vector ratio is 16 a clock and 14.8 in peaks':
    'Due clock: i tensor core sono dati a 1,83 GHz e il resto a 1,98 GHz, quindi il rapporto fra tensor core e corsie è 16 per ciclo e 14,8 nei picchi',
  'Data sheets print the sparse figures in the large type (1,979 float16, 3,958 FP8); the peaks here are the dense halves':
    'Le schede tecniche stampano in grande i dati sparsi (1.979 in float16, 3.958 in FP8); i picchi qui sono le metà dense',
  'Power-limited (700 W): 8192^3 bfloat16 sustains 770 to 800 TFLOP/s with random data, about 80 % of the peak, and 894 with zeros':
    "Limitato dalla potenza (700 W): 8192^3 in bfloat16 sostiene da 770 a 800 TFLOP/s con dati casuali, circa l'80 % del picco, e 894 con zeri",
  '72 W: sustained clocks under a GEMM lie far below 2.04 GHz':
    '72 W: sotto un GEMM i clock sostenuti stanno ben sotto 2,04 GHz',
  'Float32 accumulation at full rate; the L40 halves it (181 TFLOP/s)':
    "Accumulo in float32 a ritmo pieno; l'L40 lo dimezza (181 TFLOP/s)",
  'The GPU has no matrix unit: simdgroup_matrix 8x8x8 runs on the ordinary lanes':
    'La GPU non ha unità matriciali: simdgroup_matrix 8x8x8 gira sulle corsie ordinarie',
  "The CPU cores' AMX or SME units are another road to GEMM and are not in this file":
    "Le unità AMX o SME dei core della CPU sono un'altra via al GEMM e non sono in questo file",
  'Memory is shared with the CPU, so the GPU rarely sees the whole bandwidth':
    'La memoria è in comune con la CPU, quindi la GPU vede di rado tutta la banda',
  'Two dies (GCDs) that the system sees as two GPUs: one kernel has 110 CUs, 1.64 TB/s and 8 MB of L2, half of every figure here':
    'Due die (GCD) che il sistema vede come due GPU: un kernel ha 110 CU, 1,64 TB/s e 8 MB di L2, metà di ogni dato qui',
  'L2 is private to each die of 38 CUs: a raster that ignores this reads the same tile up to 8 times from the Infinity Cache':
    'La L2 è privata di ogni die di 38 CU: un ordine di lancio che lo ignora legge la stessa tessera fino a 8 volte dalla Infinity Cache',
  "The level `l2` is the dies' L2 together; the 256 MB Infinity Cache (17.2 TB/s) is not a level of this file":
    "Il livello `l2` è l'insieme delle L2 dei die; la Infinity Cache da 256 MB (17,2 TB/s) non è un livello di questo file",
  'Tables that list 142 (or, with 2:4 sparsity, 285) TFLOP/s of float16 mean float16 accumulation; with float32 accumulation it is 71':
    'Le tabelle che danno 142 (o, con sparsità 2:4, 285) TFLOP/s in float16 intendono accumulo in float16; con accumulo in float32 sono 71',
  "Public tensor figures of this card disagree: 327.6 (data sheet), 428 (16 times its float32 rate); see the peaks' notes":
    'I dati pubblici dei tensor core di questa scheda non concordano: 327,6 (scheda tecnica), 428 (16 volte il suo ritmo di float32); vedi le note ai picchi',
  'Figures above 165 TFLOP/s of float16 (330, or 661 with 2:4 sparsity) mean float16 accumulation':
    'Dati oltre 165 TFLOP/s in float16 (330, o 661 con sparsità 2:4) intendono accumulo in float16',
  'Compute capability 12.0: warp-level mma as on Ada; no wgmma, no tcgen05, no tensor memory, unlike the data-centre Blackwells (10.0)':
    'Compute capability 12.0: mma per warp come su Ada; niente wgmma, tcgen05 né tensor memory, a differenza delle Blackwell per data center (10.0)',
  'AMX under load lowers the clock; what a run sees is between 1.9 and 3.0 GHz':
    "AMX sotto carico abbassa il clock; ciò che un'esecuzione vede sta fra 1,9 e 3,0 GHz",
  'Sustained clocks of about 0.6 to 1.0 GHz under load are common at 70 W: take the peaks as what the clock would allow, not what a long run gives':
    'A 70 W sono comuni clock sostenuti di circa 0,6-1,0 GHz sotto carico: i picchi dicono ciò che il clock permetterebbe, non ciò che dà una lunga esecuzione',
  'int4 at 260 TOPS exists and is not listed here': 'int4 a 260 TOPS esiste e qui non è elencato',
  'It multiplied 8-bit integers, for inference only: a comparison with a GPU that trains is about who moves less, energy included':
    'Moltiplicava interi a 8 bit, per la sola inferenza: il confronto con una GPU che addestra riguarda chi sposta meno, energia compresa',
  'The level `shared` is the Unified Buffer (activations); weights come straight from DDR3 through a FIFO, and 4096 x 256 32-bit accumulators (4 MiB) are the level `register`':
    'Il livello `shared` è lo Unified Buffer (attivazioni); i pesi vengono direttamente dalla DDR3 attraverso una FIFO, e 4096 x 256 accumulatori da 32 bit (4 MiB) sono il livello `register`',
  'Its published ridge of about 1350 counts multiply-adds per byte of weights; in FLOP per byte it is 2706':
    'Il suo ginocchio pubblicato, circa 1350, conta moltiplicazioni con somma per byte di pesi; in FLOP per byte è 2706',
  'The level `shared` is the vector memory (VMEM), a scratchpad that software fills: it stands where a GPU has shared memory, and there is no cache (`l2`)':
    "Il livello `shared` è la memoria vettoriale (VMEM), che il software riempie: sta dove una GPU ha la memoria condivisa, e non c'è cache (`l2`)",
  'Products of bfloat16 operands, accumulated in float32': 'Prodotti di operandi bfloat16, accumulati in float32',
  'Sums groups of four products first, without intermediate rounding':
    'Somma prima gruppi di quattro prodotti, senza arrotondamenti intermedi',
  "The number of matrix units and the clock are one public contradiction: see both figures' notes":
    'Numero di unità matriciali e clock sono una sola contraddizione pubblica: vedi le note a entrambi',
  'Programs see 16x16x16 a warp (wmma); below it lie four 8x8x4 steps (mma.m8n8k4), and one tensor core does 4x4x4 a clock: 64 multiply-adds, 8 tensor cores an SM':
    'I programmi vedono 16x16x16 per warp (wmma); sotto ci sono quattro passi 8x8x4 (mma.m8n8k4), e un tensor core fa 4x4x4 per ciclo: 64 moltiplicazioni con somma, 8 tensor core per SM',
  'No bfloat16, no tfloat32 and no 2:4 sparsity before Ampere':
    'Prima di Ampere niente bfloat16, tfloat32 né sparsità 2:4',
  '1,228 GB/s in the paper, 1,230 in JAX': "1.228 GB/s nell'articolo, 1.230 in JAX",
  '1,640 GB/s, 1,638 in the newest edition and 1,600 in an older one':
    "1.640 GB/s, 1.638 nell'edizione più recente e 1.600 in una più vecchia",
  "1.3 nJ for 64 bits, the lower end of the table's 1.3 to 2.6; 45 nm, the chip is 28 nm":
    "1,3 nJ per 64 bit, l'estremo inferiore fra 1,3 e 2,6 della tabella; 45 nm, il chip è a 28 nm",
  '100 pJ for 64 bits of a 1 MB SRAM; 45 nm': '100 pJ per 64 bit di una SRAM da 1 MB; 45 nm',
  "100,663,296 B by device query, the full AD102's 96 MB; tables that say 48 are wrong":
    "100.663.296 B chiesti al dispositivo, i 96 MB dell'AD102 intero; le tabelle che dicono 48 sbagliano",
  "126.5 MiB over both dies, as the driver reports; tables that say 96 or 65.5 MB are older guesses or one die's half":
    '126,5 MiB sui due die, come dice il driver; le tabelle che dicono 96 o 65,5 MB sono vecchie stime o la metà di un solo die',
  '128 B a clock from each of 32 slices: 6.96 TB/s on each of two dies; measured figures are about half':
    '128 B per ciclo da ciascuna di 32 fette: 6,96 TB/s su ciascuno dei due die; i valori misurati sono circa la metà',
  '128 MiB of VMEM; the scaling book agrees': '128 MiB di VMEM; concorda lo scaling book',
  '14 pJ for 64 bits of a 1 MB SRAM; wires across the die come on top':
    '14 pJ per 64 bit di una SRAM da 1 MB; in più i fili attraverso il die',
  '16 MiB of VMEM a core; 128 MiB of CMEM lie behind it and are not a level of this file':
    '16 MiB di VMEM per core; dietro ci sono 128 MiB di CMEM, che non sono un livello di questo file',
  '192 GB on the package, 180 usable; the driver gives programs 191,514,411,008 B':
    '192 GB nel package, 180 utilizzabili; il driver dà ai programmi 191.514.411.008 B',
  '2 KB a clock from each of 8 dies; the Infinity Cache behind it gives 17.2 TB/s':
    '2 KB per ciclo da ciascuno di 8 die; la Infinity Cache dietro dà 17,2 TB/s',
  '2 cores with four 128x128 matrix units each; a public page that says 2 a core (4 in all) would give 138 TFLOP/s':
    '2 core con quattro unità matriciali 128x128 ciascuno; una pagina pubblica che dice 2 per core (4 in tutto) darebbe 138 TFLOP/s',
  '2,048 B read a clock, though no document says whose clock; microbenchmarks read about 2.2 TB/s (Jia et al. 2018, arXiv 1804.06826)':
    '2.048 B letti per ciclo, ma nessun documento dice di quale clock; i microbenchmark leggono circa 2,2 TB/s (Jia et al. 2018, arXiv 1804.06826)',
  '2.8 in rounded tables; JAX puts 2.46 and a worked text of the scaling book 2.5':
    '2,8 nelle tabelle arrotondate; JAX mette 2,46 e un esempio dello scaling book 2,5',
  '208 KiB a core; an earlier edition of the same source said 384':
    "208 KiB per core; un'edizione precedente della stessa fonte diceva 384",
  '23 B a clock a core: 1,446 GB/s on 12 cores, if they ran at 5.2 GHz; the port is 32 B wide':
    '23 B per ciclo e core: 1.446 GB/s su 12 core, se andavano a 5,2 GHz; la porta è larga 32 B',
  "256 B a cycle into the matrix unit (167 GiB/s in the paper's figure 1)":
    "256 B per ciclo verso l'unità matriciale (167 GiB/s nella figura 1 dell'articolo)",
  "256 bits at the driver's 5,001 MHz": '256 bit ai 5.001 MHz che dà il driver',
  '256 ordinary and 256 accumulation registers': '256 registri ordinari e 256 di accumulo',
  '2:4 structured sparsity of the matrix cores; the peaks here are dense':
    'sparsità strutturata 2:4 dei matrix core; i picchi qui sono densi',
  '2:4 structured sparsity; a dense product never sees it, and a sparse peak used for a dense knee doubles the knee wrongly':
    'sparsità strutturata 2:4; un prodotto denso non la vede mai, e un picco sparso usato per un ginocchio denso lo raddoppia a torto',
  '3.2 TB/s in rounded tables; 1.6384 for each of the two dies':
    '3,2 TB/s nelle tabelle arrotondate; 1,6384 per ciascuno dei due die',
  '304 CUs x 512 KiB of VGPRs, half of them accumulation registers':
    '304 CU x 512 KiB di VGPR, metà dei quali registri di accumulo',
  '32 B a clock a core: a Ryzen 5 7600X read 1,029 GB/s on 6 cores at its 5.3 GHz, and Zen 5 nearly doubled it':
    "32 B per ciclo e core: un Ryzen 5 7600X ha letto 1.029 GB/s su 6 core ai suoi 5,3 GHz, e Zen 5 l'ha quasi raddoppiato",
  '394 in the scaling book and JAX': '394 nello scaling book e in JAX',
  '4 MB on each of 8 dies, which share nothing; behind them lies a shared 256 MB Infinity Cache':
    "4 MB su ciascuno di 8 die, che non condividono nulla; dietro c'è una Infinity Cache comune da 256 MB",
  '4,194,304 B by device query (sylvia-ymlin/cuda-kernels-from-scratch)':
    '4.194.304 B chiesti al dispositivo (sylvia-ymlin/cuda-kernels-from-scratch)',
  "4,472.3 B a clock, measured; Chips and Cheese read about 5.5 TB/s on this card; NVIDIA publishes none (the A100's 5,120 B a clock would be 9.0)":
    "4.472,3 B per ciclo, misurati; Chips and Cheese ha letto circa 5,5 TB/s su questa scheda; NVIDIA non pubblica nulla (i 5.120 B per ciclo dell'A100 sarebbero 9,0)",
  "4,472.3 B a clock, measured; an H200, the same die, read 8.5 to 9.2 TB/s at this clock; NVIDIA publishes none (the A100's 5,120 B a clock would be 10.1)":
    "4.472,3 B per ciclo, misurati; un H200, lo stesso die, ha letto da 8,5 a 9,2 TB/s a questo clock; NVIDIA non pubblica nulla (i 5.120 B per ciclo dell'A100 sarebbero 10,1)",
  '40,960 KB, and 41,943,040 B by device query; two partitions; data read from the far one may stand in both, so the effective capacity is between 20 and 40 MiB':
    '40.960 KB, e 41.943.040 B chiesti al dispositivo; due partizioni; i dati letti da quella lontana possono stare in entrambe, quindi la capacità effettiva è fra 20 e 40 MiB',
  '45 in other tables; 45.9 recomputed': '45 in altre tabelle; 45,9 ricalcolato',
  '48 MB in public tables is the full AD104; with 5 of its 6 memory channels 40 MB would follow':
    "i 48 MB delle tabelle pubbliche sono l'AD104 intero; con 5 dei suoi 6 canali di memoria sarebbero 40 MB",
  "49,152 KB by device query; NVIDIA's data sheet is silent":
    '49.152 KB chiesti al dispositivo; la scheda tecnica di NVIDIA tace',
  '5 stacks of HBM2e; 2,039 GB/s at 1,593 MHz, and tables also say 2,048':
    '5 pile di HBM2e; 2.039 GB/s a 1.593 MHz, e alcune tabelle dicono 2.048',
  "5 stacks of HBM3; 5,120 bits at the driver's 2,619 MHz are 3,352 GB/s":
    '5 pile di HBM3; 5.120 bit ai 2.619 MHz che dà il driver sono 3.352 GB/s',
  '5,120 B read a clock (page 35; the V100 2,048), taken at 1.41 GHz, though no document says whose clock; microbenchmarks read 4.8 to 5.4 TB/s':
    '5.120 B letti per ciclo (pagina 35; la V100 2.048), presi a 1,41 GHz, ma nessun documento dice di quale clock; i microbenchmark leggono da 4,8 a 5,4 TB/s',
  '50 MB in the white paper; two partitions; the full die has 60 MB':
    '50 MB nel white paper; due partizioni; il die intero ha 60 MB',
  '512 KiB of VGPRs, ordinary and accumulation ones': '512 KiB di VGPR, ordinari e di accumulo',
  '6,291,456 B by device query (Jumperkables/cuda-benchmarking)':
    '6.291.456 B chiesti al dispositivo (Jumperkables/cuda-benchmarking)',
  '6,291,456 B by device query (aalanwyr/face2cuda)': '6.291.456 B chiesti al dispositivo (aalanwyr/face2cuda)',
  "6.0 pJ a bit, the memory devices alone; a HBM2E figure; O'Connor et al. 2017 give 3.92 for HBM2":
    "6,0 pJ per bit, le sole memorie; è un dato della HBM2E; O'Connor et al. 2017 danno 3,92 per la HBM2",
  "60 MB as the driver reports it; the H100, the same die, is published with 50 MB, some tables and XLA's file of the chip give the H200 50 too, and NVIDIA's H200 data sheet is silent":
    "60 MB come dice il driver; l'H100, lo stesso die, è pubblicato con 50 MB, alcune tabelle e il file di XLA sul chip danno 50 anche all'H200, e la scheda tecnica di NVIDIA sull'H200 tace",
  '64 B a clock a core, 48 sustained': '64 B per ciclo e core, 48 sostenuti',
  "7,424 CUDA cores and 232 tensor cores are 58 SMs of the AD104's 60; public benchmark tables that say 60 SMs count the full die":
    "7.424 core CUDA e 232 tensor core sono 58 dei 60 SM dell'AD104; le tabelle pubbliche che dicono 60 SM contano il die intero",
  "7,680 bits at the driver's 3,996 MHz are 7.67; the DGX B200 sheet (64 TB/s for eight) and most tables say 8, as the GB200 has":
    '7.680 bit ai 3.996 MHz che dà il driver sono 7,67; la scheda del DGX B200 (64 TB/s per otto) e quasi tutte le tabelle dicono 8, come ha il GB200',
  '700 GB/s in the paper; JAX puts 716, other tables 600': "700 GB/s nell'articolo; JAX mette 716, altre tabelle 600",
  '73,728 KB in the whitepaper and 75,497,472 B by device query; press tables that say 96 MB quote the full AD102 die':
    '73.728 KB nel white paper e 75.497.472 B chiesti al dispositivo; le tabelle di stampa che dicono 96 MB riportano il die AD102 intero',
  "74.5 at the driver's clock; other documents say 80 (the GB200's, and the 2024 brief) or 70":
    '74,5 al clock che dà il driver; altri documenti dicono 80 (quelli del GB200, e il brief del 2024) o 70',
  '8 MB on each of two dies, which share nothing: a kernel on one die sees 8':
    '8 MB su ciascuno di due die, che non condividono nulla: un kernel su un die ne vede 8',
  '8 stacks of HBM3 at 5.2 Gb/s: 5.325': '8 pile di HBM3 a 5,2 Gb/s: 5,325',
  '8 wavefronts on each of 4 SIMDs': '8 wavefront su ciascuna di 4 SIMD',
  '8-bit integers; half speed with one 16-bit operand, a quarter with two':
    'interi a 8 bit; metà velocità con un operando a 16 bit, un quarto con due',
  '8.5 pJ for 64 bits of a 32 KB SRAM': '8,5 pJ per 64 bit di una SRAM da 32 KB',
  '800 in other editions of the page, 810 in the scaling book, 820 in JAX':
    '800 in altre edizioni della pagina, 810 nello scaling book, 820 in JAX',
  "95 GB on Google's page; JAX puts 103e9 B, which is 96 GiB":
    '95 GB sulla pagina di Google; JAX mette 103e9 B, cioè 96 GiB',
  '98,304 KB; the full GB202 has 128 MB': '98.304 KB; il GB202 intero ha 128 MB',
  'GPU cores of the larger variant': 'core GPU della variante maggiore',
  'HBM2 at 877 MHz gives 898 GB/s; the data sheet rounds': 'la HBM2 a 877 MHz dà 898 GB/s; la scheda tecnica arrotonda',
  'JAX puts 825': 'JAX mette 825',
  'L3, 32 MiB on each of 12 dies, which share nothing: one core sees 32':
    'L3, 32 MiB su ciascuno di 12 die, che non condividono nulla: un core ne vede 32',
  'L3; public tables of samples also say 112': 'L3; tabelle pubbliche di campioni dicono anche 112',
  'LPDDR4X-4266, 128 bits': 'LPDDR4X-4266, 128 bit',
  'LPDDR5-6400, 128 bits; Apple says 100 GB/s': 'LPDDR5-6400, 128 bit; Apple dice 100 GB/s',
  'LPDDR5X-7500, 128 bits': 'LPDDR5X-7500, 128 bit',
  'Unified Buffer; with the 4 MiB of accumulators 28 MiB on chip':
    'Unified Buffer; con i 4 MiB di accumulatori 28 MiB sul chip',
  'a 32 B port of each core a clock; the caches behind it are not published':
    'una porta da 32 B per ciclo di ogni core; le cache dietro non sono pubblicate',
  'a device-to-device copy measured 4.30 TB/s, reads and writes counted':
    'una copia sul dispositivo ha misurato 4,30 TB/s, contando letture e scritture',
  'a microbenchmark, not a published figure': 'un microbenchmark, non un dato pubblicato',
  'about 22 times the HBM bandwidth, a rule of the source': 'circa 22 volte la banda della HBM, una regola della fonte',
  'about 60 to 64 KiB a core, of which a threadgroup may use 32':
    'circa da 60 a 64 KiB per core, di cui un threadgroup può usarne 32',
  "accumulates in e8m13, like Hopper's": 'accumula in e8m13, come Hopper',
  'accumulates in float32 or float16 at one rate': 'accumula in float32 o float16 allo stesso ritmo',
  accumulators: 'accumulatori',
  "another table's 4.26 TFLOP/s would ask for 1.66 GHz": "i 4,26 TFLOP/s di un'altra tabella richiederebbero 1,66 GHz",
  'argued: 16 banks of 4 B a core a clock; Apple publishes none':
    'dedotto: 16 banchi da 4 B per core e ciclo; Apple non pubblica nulla',
  'argued: 32 B a clock a core from the mesh; measured figures are far below':
    'dedotto: 32 B per ciclo e core dalla mesh; i valori misurati sono molto più bassi',
  'argued: one 8x128 vector of 4 B loaded a clock on each of 2 cores':
    'dedotto: un vettore 8x128 da 4 B caricato per ciclo su ciascuno di 2 core',
  'assumes 2 slices of 64 B a clock behind each of the 12 memory channels (1536 B a clock), which NVIDIA does not publish':
    'presume 2 fette da 64 B per ciclo dietro ciascuno dei 12 canali di memoria (1536 B per ciclo), che NVIDIA non pubblica',
  'assumes 5120 B a clock on each of the two dies; NVIDIA publishes none':
    'presume 5120 B per ciclo su ciascuno dei due die; NVIDIA non pubblica nulla',
  'base clock; 3.0 all-core turbo, 3.8 single: a measured clock is worth more than any of them':
    'clock di base; 3,0 in turbo su tutti i core, 3,8 su uno: un clock misurato vale più di tutti questi',
  'base clock; 3.55 all-core boost, 3.7 single': 'clock di base; 3,55 in boost su tutti i core, 3,7 su uno',
  'boost clock of everything but tensor cores': 'clock di boost di tutto tranne i tensor core',
  'boost clock of the tensor cores': 'clock di boost dei tensor core',
  'boost; the 70 W limit holds a busy T4 far below it':
    'boost; il limite di 70 W tiene una T4 sotto carico molto più in basso',
  'bounded by wavefronts; 16 where a workgroup of several wavefronts uses barriers':
    'limitato dai wavefront; 16 dove un workgroup di più wavefront usa barriere',
  'buffers of 16 to 48 MiB read again and again past L1: 8.5 to 9.2 TB/s at 1.98 GHz, about 4,400 B a clock; NVIDIA publishes none (5,120 B a clock, as the A100, would be 10.1)':
    "buffer da 16 a 48 MiB riletti di continuo oltre la L1: da 8,5 a 9,2 TB/s a 1,98 GHz, circa 4.400 B per ciclo; NVIDIA non pubblica nulla (5.120 B per ciclo, come l'A100, sarebbero 10,1)",
  'configurable up to 1,000 W': 'configurabile fino a 1.000 W',
  'cores x clock x rate at the base clock; AMD publishes no peak':
    'core x clock x ritmo al clock di base; AMD non pubblica un picco',
  'cores x clock x rate at the base clock; AMD publishes no peak; 512-bit instructions run on 256-bit units':
    'core x clock x ritmo al clock di base; AMD non pubblica un picco; le istruzioni a 512 bit girano su unità a 256 bit',
  'cores x clock x rate at the base clock; AMD publishes no peak; AVX512_BF16 dot products':
    'core x clock x ritmo al clock di base; AMD non pubblica un picco; prodotti scalari AVX512_BF16',
  'cores x clock x rate at the base clock; AMD publishes no peak; AVX512_VNNI':
    'core x clock x ritmo al clock di base; AMD non pubblica un picco; AVX512_VNNI',
  'cores x clock x rate at the base clock; Intel publishes no peak':
    'core x clock x ritmo al clock di base; Intel non pubblica un picco',
  'cores x clock x rate at the base clock; Intel publishes no peak; AMX, 16x16x32 in 16 clocks':
    'core x clock x ritmo al clock di base; Intel non pubblica un picco; AMX, 16x16x32 in 16 cicli',
  'cores x clock x rate at the base clock; Intel publishes no peak; AMX, 16x16x64 in 16 clocks':
    'core x clock x ritmo al clock di base; Intel non pubblica un picco; AMX, 16x16x64 in 16 cicli',
  'cores x clock x rate at the base clock; Intel publishes no peak; AVX512-FP16, accumulates in float16':
    'core x clock x ritmo al clock di base; Intel non pubblica un picco; AVX512-FP16, accumula in float16',
  'dense; 18,000 with 2:4 sparsity': 'denso; 18.000 con sparsità 2:4',
  "dp4a on the ordinary lanes, 4 times the float32 rate; Volta's tensor cores know float16 alone":
    'dp4a sulle corsie ordinarie, 4 volte il ritmo di float32; i tensor core di Volta conoscono solo float16',
  'float16 runs at the float32 rate and saves registers alone':
    'float16 gira al ritmo di float32 e fa risparmiare solo registri',
  'float32 accumulation at full rate, unlike a GeForce':
    'accumulo in float32 a ritmo pieno, a differenza di una GeForce',
  'half of a bfloat16 multiply (0.21 pJ) and float32 add (0.38 pJ)':
    'metà di una moltiplicazione bfloat16 (0,21 pJ) e di una somma float32 (0,38 pJ)',
  'half of a float32 multiply (1.31 pJ) and add (0.38 pJ)':
    'metà di una moltiplicazione float32 (1,31 pJ) e di una somma (0,38 pJ)',
  'half of an 8-bit multiply (0.2 pJ) and a 32-bit add (0.1 pJ); 45 nm':
    'metà di una moltiplicazione a 8 bit (0,2 pJ) e di una somma a 32 bit (0,1 pJ); 45 nm',
  'half of an int8 multiply (0.07 pJ) and int32 add (0.03 pJ)':
    'metà di una moltiplicazione int8 (0,07 pJ) e di una somma int32 (0,03 pJ)',
  'half of float16; the sheet rounds it to 2.2 PFLOP/s with sparsity':
    'metà di float16; la scheda lo arrotonda a 2,2 PFLOP/s con sparsità',
  "half of the data sheet's sparse 733; its dense column prints 362.05, which is the L40's figure and does not recompute":
    "metà dei 733 sparsi della scheda tecnica; la sua colonna densa stampa 362,05, che è il dato dell'L40 e non torna ricalcolando",
  'half of the sparse 120; 58 SMs at 2.04 GHz give 60.6': 'metà dei 120 sparsi; 58 SM a 2,04 GHz danno 60,6',
  'int8 runs at the bfloat16 rate (275 teraflops, bf16 or int8); JAX lists none':
    'int8 gira al ritmo di bfloat16 (275 teraflops, bf16 o int8); JAX non lo elenca',
  'matrix cores, and packed float32 on the ordinary lanes': 'matrix core, e float32 appaiati sulle corsie ordinarie',
  'matrix cores, and packed float32 on the ordinary lanes; 47.9 without packing':
    'matrix core, e float32 appaiati sulle corsie ordinarie; 47,9 senza appaiarli',
  'matrix cores; 47.9 on the ordinary lanes': 'matrix core; 47,9 sulle corsie ordinarie',
  'matrix cores; 81.7 on the ordinary lanes': 'matrix core; 81,7 sulle corsie ordinarie',
  'maximum; 170 mean': 'massimo; 170 in media',
  'measured on an RTX 4090; a second run read 1,946 B a clock (smallscientist1/cuda_microbenchmark); NVIDIA publishes none':
    'misurato su una RTX 4090; una seconda esecuzione ha letto 1.946 B per ciclo (smallscientist1/cuda_microbenchmark); NVIDIA non pubblica nulla',
  "most editions of Google's page say two 256x256 matrix units, one edition says four; 918 TFLOP/s on two would need 3.5 GHz":
    'quasi tutte le edizioni della pagina di Google dicono due unità matriciali 256x256, una dice quattro; 918 TFLOP/s su due richiederebbero 3,5 GHz',
  "on the ordinary lanes, half of float32, and tensor cores add nothing; other documents say 40, the GB200's":
    'sulle corsie ordinarie, metà di float32, e i tensor core non aggiungono nulla; altri documenti dicono 40, quello del GB200',
  'one 256-wide 32-bit partial sum read and written a cycle':
    'una somma parziale larga 256 a 32 bit letta e scritta per ciclo',
  'other tables give 1.38 (3.53 TFLOP/s) and 1.6 GHz (4.1); Apple publishes none':
    'altre tabelle danno 1,38 (3,53 TFLOP/s) e 1,6 GHz (4,1); Apple non pubblica nulla',
  'other tables say 3.53 and 4.1': 'altre tabelle dicono 3,53 e 4,1',
  'other tables say 4.26; 2.9 TFLOP/s was measured (arXiv 2502.05317)':
    'altre tabelle dicono 4,26; sono stati misurati 2,9 TFLOP/s (arXiv 2502.05317)',
  'peak engine clock': 'clock massimo del motore',
  'tensor cores (DMMA); 9.7 TFLOP/s on the ordinary lanes': 'tensor core (DMMA); 9,7 TFLOP/s sulle corsie ordinarie',
  'tensor cores, rated at the vector clock; half of it on the ordinary lanes':
    'tensor core, dati al clock delle corsie; metà sulle corsie ordinarie',
  'the FNUZ encoding (exponent bias 8, no infinities, no -0), not the OCP float8_e4m3fn of other vendors':
    "la codifica FNUZ (bias dell'esponente 8, niente infiniti, niente -0), non il float8_e4m3fn OCP degli altri produttori",
  'the FNUZ encoding, not the OCP float8_e5m2 of other vendors':
    'la codifica FNUZ, non il float8_e5m2 OCP degli altri produttori',
  'the accumulator is e8m13 until software promotes it': "l'accumulatore è e8m13 finché il software non lo promuove",
  "the data sheet's 327.6 tensor TFLOP/s (FP8 with 2:4 sparsity) is 0.77 of what 48 SMs at 2.175 GHz give (427.6), and its 70 W sibling's 306.8 is exact: this dense figure recomputes from the clock, and the published one would mean 1.67 GHz":
    'i 327,6 TFLOP/s dei tensor core nella scheda tecnica (FP8 con sparsità 2:4) sono 0,77 di ciò che danno 48 SM a 2,175 GHz (427,6), e i 306,8 della sorella da 70 W sono esatti: questo dato denso è ricalcolato dal clock, quello pubblicato vorrebbe dire 1,67 GHz',
  'the driver reports 143,771 MiB, 140.4 GiB': 'il driver dice 143.771 MiB, 140,4 GiB',
  "the driver's highest SM clock; NVIDIA publishes none and a public table says 1.98":
    'il clock massimo degli SM secondo il driver; NVIDIA non ne pubblica e una tabella pubblica dice 1,98',
  'the largest that the socket takes': 'il massimo che il socket accetta',
  'the largest that the socket takes; no second document was found':
    'il massimo che il socket accetta; non si è trovato un secondo documento',
  'the peak; 500 in other documents, the typical figure': 'il picco; 500 in altri documenti, il valore tipico',
  "the scaling book agrees; Google's page of the chip prints bfloat16 alone":
    'concorda lo scaling book; la pagina di Google sul chip stampa solo bfloat16',
  'the sheet rounds to 14; 14.13 at its 1.38 GHz': 'la scheda arrotonda a 14; 14,13 ai suoi 1,38 GHz',
  'the smallest configuration; shared with the CPU': 'la configurazione minima; in comune con la CPU',
  'the system-level cache, shared with the CPU': 'la cache di sistema, in comune con la CPU',
  "the system-level cache, shared with the CPU; the GPU's own L2 is 768 KB":
    'la cache di sistema, in comune con la CPU; la L2 propria della GPU è di 768 KB',
  'the system-level cache, shared with the CPU; the source ends at the M2, and another table says 16 MB':
    "la cache di sistema, in comune con la CPU; la fonte si ferma all'M2, e un'altra tabella dice 16 MB",
  'thermal design power': 'potenza termica di progetto',
  'thermal design power; 40 W busy, 28 W idle': 'potenza termica di progetto; 40 W al lavoro, 28 W a riposo',
  'weights in DDR3': 'pesi nella DDR3',
  "what 2,250 TFLOP/s on 148 SMs asks for; XLA's file of the chip puts 1.835":
    'ciò che richiedono 2.250 TFLOP/s su 148 SM; il file di XLA sul chip mette 1,835',
  'what 4 units at 940 MHz give; the scaling book and JAX print 140, which would ask for 1.07 GHz':
    'ciò che danno 4 unità a 940 MHz; lo scaling book e JAX stampano 140, che richiederebbe 1,07 GHz',
  'what 459 TFLOP/s on eight 128x128 units asks for; Google publishes none':
    'ciò che richiedono 459 TFLOP/s su otto unità 128x128; Google non pubblica nulla',
  'what 918 TFLOP/s on four 256x256 units asks for; Google publishes no clock':
    'ciò che richiedono 918 TFLOP/s su quattro unità 256x256; Google non pubblica un clock',
  'with float32 accumulation': 'con accumulo in float32',
  "with float32 accumulation, not halved as FP8's is; 3,352 AI TOPS is the sparse figure; mmapeak read 1,474; a table that lists 838 dense and 1,676 sparse is wrong":
    'con accumulo in float32, non dimezzato come in FP8; i 3.352 AI TOPS sono il dato sparso; mmapeak ha letto 1.474; una tabella che dà 838 densi e 1.676 sparsi sbaglia',
  "with float32 accumulation; 660.6 with float16 accumulation; accumulates in e8m13, like Hopper's":
    'con accumulo in float32; 660,6 con accumulo in float16; accumula in e8m13, come Hopper',
  'with float32 accumulation; 838 with float16; the block-scaled kind (mxf8) is not halved: mmapeak read 737':
    'con accumulo in float32; 838 con float16; il tipo scalato a blocchi (mxf8) non è dimezzato: mmapeak ha letto 737',
  'xf32, dropped again by CDNA 4': 'xf32, di nuovo abbandonato da CDNA 4',
  'computed from the figures of this file': 'calcolato dai dati di questo file',
  'a B200 as the driver answers: openxla/xla, xla/backends/gpu/target_config/specs/b200.txtpb':
    'un B200 come risponde il driver: openxla/xla, xla/backends/gpu/target_config/specs/b200.txtpb',
  'a device query as the driver answers it: openxla/xla, xla/backends/gpu/target_config/specs':
    'una richiesta al dispositivo come risponde il driver: openxla/xla, xla/backends/gpu/target_config/specs',
  'measured on one H200, driver 580, 2026': 'misurato su un H200, driver 580, 2026',
  'NVIDIA L4 data sheet, 2023 (it prints the sparse figures: 120, 242, 485)':
    'NVIDIA L4 data sheet, 2023 (stampa i dati sparsi: 120, 242, 485)',
  'a gpu-benches run on an RTX 4090: 1894.6 B a clock from L2 (codingjin/0129-params, 4090report.md)':
    'gpu-benches eseguito su una RTX 4090: 1894,6 B per ciclo dalla L2 (codingjin/0129-params, 4090report.md)',
  'public deviceQuery output of an L4: 58 SMs, 2,040 MHz, 192 bits, 49,152 KB of L2':
    'deviceQuery pubblico di un L4: 58 SM, 2.040 MHz, 192 bit, 49.152 KB di L2',
  'public deviceQuery output of an L40S: 142 SMs, 2,520 MHz, 384 bits, 100,663,296 B of L2':
    'deviceQuery pubblico di un L40S: 142 SM, 2.520 MHz, 384 bit, 100.663.296 B di L2',
  'public specification table (hmc-tech.com): 148 SMs, 1.98 GHz, tensor cores 1.856 GHz':
    'tabella pubblica di specifiche (hmc-tech.com): 148 SM, 1,98 GHz, tensor core 1,856 GHz',
  'public specification table (hmc-tech.com)': 'tabella pubblica di specifiche (hmc-tech.com)',
  'public specification tables (siliconcat.net; lamonoai/gpumap): 107, 214':
    'tabelle pubbliche di specifiche (siliconcat.net; lamonoai/gpumap): 107, 214',
  'public table of TPU generations (clock)': 'tabella pubblica delle generazioni di TPU (clock)',
  'philipturner/metal-benchmarks (measurements of Apple GPUs)': 'philipturner/metal-benchmarks (misure di GPU Apple)',
  'LPDDR5-6400, 128 bits': 'LPDDR5-6400, 128 bit',
  'Apple and press, 68.25 GB/s': 'Apple e stampa, 68,25 GB/s',
  'NVIDIA A100 Tensor Core GPU Architecture, V1.0, 2020, page 35 (it compares with the V100)':
    'NVIDIA A100 Tensor Core GPU Architecture, V1.0, 2020, pagina 35 (il confronto con la V100)',
  'NVIDIA Blackwell data sheet, individual GPU specifications, column HGX B200 (tensor figures printed with sparsity)':
    'NVIDIA Blackwell data sheet, individual GPU specifications, colonna HGX B200 (i dati dei tensor core vi sono stampati con sparsità)',
};

const NUMBER = /\d[\d,]*(?:\.\d+)?/g;
const shape = (text: string) => text.replace(NUMBER, '#');
/** A number as Italian writes it. */
const written = (number: string) => number.replace(/[.,]/g, (mark) => (mark === '.' ? ',' : '.'));
const patterns = new Map(PATTERNS.map(([english, italian]) => [shape(english), { english, italian }]));

/** The text in Italian; null where nobody has translated it. */
export function italian(text: string): string | null {
  if (Object.hasOwn(NOTES, text)) return NOTES[text]!;
  const found = patterns.get(shape(text));
  if (!found) return null;
  // what is a number in the pattern too, such as DDR5-4800, stands in both as it is
  const given = [...text.matchAll(NUMBER)].map(([number]) => number);
  const fixed = [...found.english.matchAll(/#|\d[\d,]*(?:\.\d+)?/g)].map(([mark]) => mark);
  const free = given.filter((_, place) => fixed[place] === '#');
  let next = 0;
  return found.italian.replace(/#/g, () => written(free[next++]!));
}

/** All that is translated, for the test that nothing of it is out of date. */
export const KNOWN: readonly string[] = Object.keys(NOTES);
