import { findProgramBundle } from '../../bin/find-program-bundle.js';
import { FIXTURE_BUNDLE } from '../../test/fixture-programs.ts';
import { SERVER_BUNDLE, writeBundle } from '../write-bundle.ts';

/** Bundles the programs that tests start, where a source was changed: hundreds of starts, each in a third of the time. */
export async function bundlePrograms(root: string): Promise<void> {
  for (const { programs, folder } of [SERVER_BUNDLE, FIXTURE_BUNDLE])
    if (findProgramBundle(root, `${folder}/manifest.json`) === undefined) await writeBundle({ root, programs, folder });
}
