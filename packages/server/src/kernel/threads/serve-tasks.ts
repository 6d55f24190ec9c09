/** The thread's side of the pool. An entry file imports this file and nothing else of the folder. */
import { parentPort } from 'node:worker_threads';

/** What a thread says. Each task is answered with a result or an error, after any number of reports of its progress. */
export type Message =
  | { ready: true }
  | { progress: unknown }
  | { result: unknown }
  | { error: Pick<Error, 'name' | 'message' | 'stack'> & { code?: unknown } };

/**
 * Answers the tasks of a pool, one at a time. To be called once, when the entry file is ready for its first task.
 *
 * @example serveTasks(({ template, values }: RenderTask) => render(template, values));
 */
export function serveTasks<Task, Result, Progress = never>(
  handler: (task: Task, report: (progress: Progress) => void) => Result | Promise<Result>,
): void {
  if (parentPort === null) throw new Error('serveTasks can only be called in a worker thread.');
  const port = parentPort;
  const say = (message: Message): void => port.postMessage(message);
  port.on('message', async (task: Task) => {
    try {
      say({ result: await handler(task, (progress) => say({ progress })) });
    } catch (error) {
      say({ error: describe(error) });
    }
  });
  say({ ready: true });
}

/** Plain values, because a copied error loses its name and code, and other members may not be copyable. */
function describe(error: unknown): Extract<Message, { error: unknown }>['error'] {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { name, message, stack } = error;
  return { name, message, stack, ...('code' in error ? { code: error.code } : {}) };
}
