import { hash } from 'bcryptjs';
import { PasswordHasher } from '../src/server/accounts/passwords.ts';
import { countTokens } from '../src/server/chat/usage.ts';
import { quantile } from './support/quantile.ts';
import { reportFigure } from './support/report-figure.ts';

/**
 * The CPU time of the event loop's turns while one job runs, other load aside: `node bench/event-loop-turns.ts`. Jobs
 * whose turns exceeded 10 ms run on worker threads or in slices.
 */
const ASKED_MS = 20;
const ROUNDS = 5;

const letters = (count: number, from: number, range: number): string =>
  Array.from({ length: count }, (_, index) =>
    String.fromCharCode(from + ((index * 7_919 + (index % 31) ** 3) % range)),
  ).join('');
const hasher = new PasswordHasher();
const password = 'a password to check';
const [bcrypt, argon2] = [await hash(password, 10), await hasher.hash(password)];
const prose = 'The quick brown fox jumps over the lazy dog, and 12345 other things happened. '.repeat(1_000);
const jobs: Readonly<Record<string, () => Promise<unknown>>> = {
  'password check, argon2id': () => hasher.verify(password, argon2),
  'password check, imported bcrypt': () => hasher.verify(password, bcrypt),
  'token count, prose': () => countTokens(prose),
  'token count, random letters': () => countTokens(letters(80_000, 97, 26)),
  'token count, rare Chinese': () => countTokens(letters(80_000, 0x4e00, 20_000)),
};

/** CPU milliseconds of each turn of this thread while the job runs. */
async function turnsOf(job: () => Promise<unknown>): Promise<number[]> {
  const turns: number[] = [];
  let isOver = false;
  let before = process.threadCpuUsage();
  const spin = (): void => {
    const { user, system } = process.threadCpuUsage(before);
    turns.push((user + system) / 1_000);
    before = process.threadCpuUsage();
    if (!isOver) setImmediate(spin);
  };
  setImmediate(spin);
  await job();
  isOver = true;
  return turns;
}

for (const [name, job] of Object.entries(jobs)) {
  await job();
  const longest: number[] = [];
  for (let round = 0; round < ROUNDS; round++) longest.push(Math.max(...(await turnsOf(job))));
  const measured = quantile(longest, 0.5);
  process.stdout.write(`${name}: longest turn ${measured.toFixed(1)} ms of CPU\n`);
  reportFigure({ subject: `longest turn of the event loop: ${name}`, unit: 'ms', measured, asked: ASKED_MS });
}
