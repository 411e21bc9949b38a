import type { Command } from 'commander';
import { EXIT } from '../errors.ts';
import { joinTexts, type Rendering, type Style, styled } from '../output.ts';
import type { RunCommand } from '../run-command.ts';

/** Imported when the command runs, because it loads much of the server. */
const importDoctor = () => import('../../server/commands/doctor.ts');
type Doctor = Awaited<ReturnType<typeof importDoctor>>;
type Diagnosis = Awaited<ReturnType<Doctor['runDoctor']>>[number];

const MARKS: Readonly<Record<Diagnosis['state'], { readonly mark: string; readonly style: Style }>> = {
  ok: { mark: '✓', style: 'good' },
  warning: { mark: '!', style: 'warning' },
  error: { mark: '✗', style: 'bad' },
};

/** `reelgate doctor` */
export function addDoctorCommand(program: Command, run: RunCommand): void {
  program
    .command('doctor')
    .description('On the server itself: check configuration, database, vendors, mail and proxy, and say what to do')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ output }) => {
        const { runDoctor } = await importDoctor();
        const found = await runDoctor();
        output.result(found, joinTexts(found.map(formatDiagnosis), '\n'));
        if (found.some(({ state }) => state === 'error')) process.exitCode = EXIT.failed;
      }),
    );
}

function formatDiagnosis({ subject, state, message, advice }: Diagnosis): Rendering {
  const { mark, style } = MARKS[state];
  const next = advice === undefined ? '' : `\n  ${' '.repeat(13)} → ${advice}`;
  return joinTexts([styled(style, mark), ` ${subject.padEnd(13)} ${message}${next}`], '');
}
