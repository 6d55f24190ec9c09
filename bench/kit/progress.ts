/** Says on standard error what goes on; standard output is for the result. */
export function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}
