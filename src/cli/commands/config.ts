import { Argument, type Command } from 'commander';
import { DEFAULT_MODEL_SETTING_NAMES, type SettingName } from '../default-model-names.ts';
import { formatKeyValues } from '../output.ts';
import type { RunCommand } from '../run-command.ts';

/** Imported when a command runs, because printing help does not need it. */
const importSettings = () => import('../default-models.ts');

/** `reelgate config …` */
export function addConfigCommands(program: Command, run: RunCommand): void {
  const config = program
    .command('config')
    .description('Default models of this service, kept on this machine')
    .addHelpText(
      'after',
      '\nExamples:\n  $ reelgate config set video-model kling-v3\n  $ reelgate video create "a kite"\n  $ reelgate config unset video-model',
    );
  const name = () => new Argument('<name>', 'the setting').choices(DEFAULT_MODEL_SETTING_NAMES);

  config
    .command('list', { isDefault: true })
    .description('Show the settings')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ output, baseUrl }) => {
        const { readSettings } = await importSettings();
        const settings = await readSettings(baseUrl);
        const shown = DEFAULT_MODEL_SETTING_NAMES.map((each) => [each, settings[each] ?? 'not set'] as const);
        output.result({ url: baseUrl, ...settings }, formatKeyValues({ url: baseUrl, ...Object.fromEntries(shown) }));
      }),
    );
  config
    .command('set')
    .addArgument(name())
    .argument('<model>', 'a model of "reelgate models"')
    .description('Set a default')
    .action((setting: SettingName, model: string, _options: unknown, command: Command) =>
      run(command, async ({ output, baseUrl }) => {
        const { writeSetting } = await importSettings();
        await writeSetting(baseUrl, setting, model);
        output.result({ url: baseUrl, [setting]: model }, `${setting} of ${baseUrl} is ${model}.`);
      }),
    );
  config
    .command('unset')
    .addArgument(name())
    .description('Remove a default')
    .action((setting: SettingName, _options: unknown, command: Command) =>
      run(command, async ({ output, baseUrl }) => {
        const { writeSetting } = await importSettings();
        await writeSetting(baseUrl, setting, undefined);
        output.result({ url: baseUrl, [setting]: null }, `${setting} of ${baseUrl} is not set.`);
      }),
    );
}
