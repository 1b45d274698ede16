/**
 * How long the extension's own steps take, as measures of the extension host's clock that a benchmark reads.
 *
 * Imported before everything else, so that the time of loading is that of all other modules.
 */
export const LOADED = begin();

/** Where a step begins: the time in milliseconds of `performance.now()`, and what the process had used of the processor. */
export interface Beginning {
  at: number;
  used: NodeJS.CpuUsage;
}

export function begin(): Beginning {
  return { at: performance.now(), used: process.cpuUsage() };
}

/** Notes how long a step took; as its detail, the milliseconds that the processor worked in this process meanwhile. */
export function measure(step: "load" | "activate" | "server", { at, used }: Beginning): void {
  const { user, system } = process.cpuUsage(used);
  performance.measure(`handrail.${step}`, { start: at, detail: (user + system) / 1000 });
}
