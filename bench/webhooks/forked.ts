/** A script of the benches in a process of its own, which is asked by name and answers. */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Forked {
  /** @throws what went wrong there, or that the process has ended */
  ask(question: string, value?: unknown): Promise<unknown>;
  stop(): void;
}

interface Question {
  id: number;
  question: string;
  value: unknown;
}
interface Answer {
  id: number;
  answer?: unknown;
  error?: string;
}

/**
 * @example const { ask, stop } = forkScript(import.meta.url, 'count');
 */
export function forkScript(url: string, ...args: string[]): Forked {
  const child = fork(fileURLToPath(url), args, { serialization: 'advanced' });
  const asked = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();
  let lastId = 0;
  child.on('message', ({ id, answer, error }: Answer) => {
    const { resolve, reject } = asked.get(id)!;
    asked.delete(id);
    if (error === undefined) resolve(answer);
    else reject(new Error(error));
  });
  child.on('exit', () => {
    for (const { reject } of asked.values()) reject(new Error(`${args.join(' ')} has ended`));
  });
  return {
    ask: (question, value) =>
      new Promise((resolve, reject) => {
        const id = ++lastId;
        asked.set(id, { resolve, reject });
        child.send({ id, question, value } satisfies Question);
      }),
    stop: () => void child.kill(),
  };
}

/** The other side: answers what it is asked, at once or later, and ends when nobody is there to ask any more. */
export function answerQuestions(answers: Record<string, (value: never) => unknown>): void {
  process.on('message', async ({ id, question, value }: Question) => {
    const answer: Answer = await Promise.resolve(value as never)
      .then(answers[question]!)
      .then(
        (answer) => ({ id, answer }),
        (error: Error) => ({ id, error: error.message }),
      );
    process.send!(answer);
  });
  process.on('disconnect', () => process.exit());
}
