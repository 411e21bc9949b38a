import { spawnSync } from 'node:child_process';
import { reportFigure } from './support/report-figure.ts';

/**
 * CPU time of commands that only print, compared with `node -e 0`: `node bench/cli-start.ts`. The code cache is warm.
 */
const ROUNDS = 9;
const COMMANDS = [
  ['--version'],
  ['--help'],
  ['video', '--help'],
  ['chat', '--help'],
  ['import', '--help'],
  ['admin', '--help'],
];

/** CPU milliseconds of a process: median, minimum and maximum of the rounds. */
function cpuOf(args: readonly string[]): { median: number; spread: [number, number] } {
  const cpuMs = (): number => {
    const { userCPUTime, systemCPUTime } = childUsage(args);
    return (userCPUTime + systemCPUTime) / 1_000;
  };
  cpuMs();
  const all = Array.from({ length: ROUNDS }, cpuMs).toSorted((one, other) => one - other);
  return { median: all[Math.floor(ROUNDS / 2)] ?? 0, spread: [all[0] ?? 0, all.at(-1) ?? 0] };
}

/** The process reports its own usage, because Node does not report that of a child. */
function childUsage(args: readonly string[]): NodeJS.ResourceUsage {
  const tell = `process.on('exit', () => process.stderr.write('\\n' + JSON.stringify(process.resourceUsage())))`;
  const { stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(tell)}`, ...args],
    { encoding: 'utf8' },
  );
  return JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '{}') as NodeJS.ResourceUsage;
}

const base = cpuOf(['-e', '0']);
console.log(`node -e 0: ${base.median.toFixed(0)} ms CPU`);
for (const command of COMMANDS) {
  const { median, spread } = cpuOf(['bin/reelgate.js', ...command]);
  const asked = command[0] === '--version' ? 2.5 : 4;
  const ratio = median / base.median;
  console.log(`reelgate ${command.join(' ')}: ${median.toFixed(0)} ms, ${ratio.toFixed(2)} times (asked: ${asked})`);
  reportFigure({
    subject: `\`reelgate ${command.join(' ')}\`, times the CPU of \`node -e 0\``,
    unit: '×',
    measured: ratio,
    asked,
    spread: [spread[0] / base.median, spread[1] / base.median],
  });
}
