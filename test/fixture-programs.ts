import { join, parse } from 'node:path';
import { findProgramBundle } from '../bin/find-program-bundle.js';

const root = join(import.meta.dirname, '..');
const FOLDER = 'out/fixtures';

/** Programs that tests start, some of them hundreds of times: the command line, and servers to be killed. */
const FIXTURE_PROGRAMS = [
  'importer/test/kill-during-import.fixture.ts',
  'src/cli/main.ts',
  'test/artifacts/copying-process.fixture.ts',
  'test/faults/crashing-server.fixture.ts',
  'test/faults/device-auth-server.fixture.ts',
  'test/faults/event-delivery-process.fixture.ts',
  'test/mailbox/kill-during-provisioning.fixture.ts',
  'test/plans/plan-kills.fixture.ts',
] as const;

/** The bundle that `npm test` builds before the first file, for {@link fixtureProgram}. */
export const FIXTURE_BUNDLE = { programs: FIXTURE_PROGRAMS, folder: FOLDER } as const;

/**
 * @returns the file to run for a program: its bundle, which starts four times as fast, or its source if that was
 * changed since
 */
export const fixtureProgram = (path: (typeof FIXTURE_PROGRAMS)[number]): string =>
  findProgramBundle(root, `${FOLDER}/${parse(path).name}.js`) ?? join(root, path);
