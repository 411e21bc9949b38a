import type { Command } from 'commander';
import { EXIT } from '../exit-codes.ts';
import type { RunCommand } from '../run-command.ts';

/** Loaded when the command runs, as it imports much of the server. */
const importDoctor = () => import('../../server/admin-doctor.ts');
type Doctor = Awaited<ReturnType<typeof importDoctor>>;
type Diagnosis = Awaited<ReturnType<Doctor['diagnose']>>[number];

const MARKS: Readonly<Record<Diagnosis['state'], string>> = { ok: '✓', warning: '!', error: '✗' };

/** `reelgate doctor` */
export function addDoctorCommand(program: Command, run: RunCommand): void {
  program
    .command('doctor')
    .description('On the server itself: check configuration, database, vendors, mail and proxy, and say what to do')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ output }) => {
        const { diagnose } = await importDoctor();
        const found = await diagnose();
        output.result(found, found.map(formatDiagnosis).join('\n'));
        if (found.some(({ state }) => state === 'error')) process.exitCode = EXIT.failed;
      }),
    );
}

const formatDiagnosis = ({ subject, state, message, advice }: Diagnosis): string =>
  `${MARKS[state]} ${subject.padEnd(13)} ${message}${advice === undefined ? '' : `\n  ${' '.repeat(13)} → ${advice}`}`;
