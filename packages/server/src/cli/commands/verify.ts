/** `signalbox verify <url>`: whether the browser SDK works on a page, and if not, why. */
import { type Command, InvalidArgumentError } from 'commander';
import { exitCodeOf, onInterruption } from '../interruption.ts';
import { paint, printable, printRecord, withSpinner } from '../terminal.ts';

export function addCommands(program: Command): void {
  program
    .command('verify')
    .argument('<url>', 'address of a page', pageAddress)
    .description('open a page in a headless browser and say whether its signals arrive')
    .addHelpText(
      'after',
      '\nExamples:\n  $ signalbox verify https://shop.example\n  $ signalbox verify http://localhost:3000 --json',
    )
    .action(async (url: string, _options, self: Command) => {
      const { json } = self.optsWithGlobals<{ json: boolean }>();
      const { verifyInstallation } = await import('./verification/index.ts');
      const verification = await withSpinner(`Opening ${url}`, async ({ stop }) => {
        // The browser ends at once with this process, and all that is seen of the page from then on is that it is gone.
        const forget = onInterruption((signal) => {
          stop();
          process.exit(exitCodeOf(signal));
        });
        return verifyInstallation({ url }).finally(forget);
      });
      const { ok, finding } = verification;
      if (json) printRecord({ ...verification }, true);
      else if (ok)
        process.stdout.write(`${paint('green', 'OK')} The script loads and a test signal arrives.\n`);
      else process.stdout.write(`${paint('red', finding!.problem)} ${printable(finding!.message)}\n`);
      if (!ok) process.exitCode = 1;
    });
}

function pageAddress(text: string): string {
  // An address in the query has a scheme too.
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `https://${text}`);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidArgumentError('It must be an address such as https://shop.example.');
  }
  return url.href;
}
