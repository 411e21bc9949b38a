import type { Command } from 'commander';
import type { CollectionInfo } from '../../sdk/index.ts';
import { parseRowId } from '../argument-parsers.ts';
import { dateTime, formatTable, type Rendering } from '../output.ts';
import type { RunCommand } from '../run-command.ts';

/** `reelgate collections …` */
export function addCollectionCommands(program: Command, run: RunCommand): void {
  const collections = program
    .command('collections')
    .description('Named groups of your videos')
    .addHelpText(
      'after',
      `
Examples:
  $ reelgate collections create "Summer spots"
  $ reelgate collections add 3 task_abc task_def
  $ reelgate video list --collection 3
  $ reelgate collections remove 3 task_abc
  $ reelgate collections delete 3`,
    );
  collections
    .command('list', { isDefault: true })
    .description('List your collections by name')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const found = await reelgate.collections.list();
        const none = 'No collections. Create one with "reelgate collections create NAME".';
        output.list(found, formatCollections(found), none);
      }),
    );
  collections
    .command('create')
    .argument('<name>', 'up to 80 characters')
    .description('Create an empty collection and print its id')
    .action((name: string, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        const id = await reelgate.collections.create(name);
        output.result({ id, name }, String(id));
      }),
    );
  collections
    .command('rename')
    .argument('<id>', 'an id from the list', parseRowId)
    .argument('<name>', 'up to 80 characters')
    .description('Rename a collection')
    .action((id: number, name: string, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.collections.rename(id, name);
        output.result({ id, name }, `Renamed to ${name}.`);
      }),
    );
  collections
    .command('delete')
    .argument('<id>', 'an id from the list', parseRowId)
    .description('Delete a collection; its videos stay')
    .action((id: number, _options: unknown, command: Command) =>
      run(command, async ({ reelgate, output }) => {
        await reelgate.collections.delete(id);
        output.result({ id, deleted: true }, `Deleted collection ${id}. Its videos stay.`);
      }),
    );
  addMembershipCommands(collections, run);
}

const MEMBERSHIP = {
  add: { description: 'Add videos to a collection', done: 'Added' },
  remove: { description: 'Remove videos from a collection; they are not deleted', done: 'Removed' },
} as const;

function addMembershipCommands(collections: Command, run: RunCommand): void {
  for (const name of ['add', 'remove'] as const)
    collections
      .command(name)
      .argument('<id>', 'an id from the list', parseRowId)
      .argument('<videos...>', 'ids of videos')
      .description(MEMBERSHIP[name].description)
      .action((id: number, videos: readonly string[], _options: unknown, command: Command) =>
        run(command, async ({ reelgate, output }) => {
          await reelgate.collections[name](id, videos);
          output.result({ id, videos }, `${MEMBERSHIP[name].done}: ${videos.join(', ')}.`);
        }),
      );
}

const formatCollections = (rows: readonly CollectionInfo[]): Rendering =>
  formatTable(
    ['ID', 'NAME', 'VIDEOS', 'CREATED AT'],
    rows.map((row) => [String(row.id), row.name, String(row.videos), dateTime(row.created_at)]),
  );
