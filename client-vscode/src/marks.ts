/**
 * How long the extension's own steps take, as measures of the extension host's clock that a benchmark reads.
 *
 * Imported before everything else, so that the time of loading is that of all other modules.
 */
export const LOADED_AT = performance.now();

/** Notes how long a step took that began then, in milliseconds of `performance.now()`. */
export function measure(step: "load" | "activate" | "server", start: number): void {
  performance.measure(`handrail.${step}`, { start });
}
