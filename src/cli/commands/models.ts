import { Argument, type Command, Option } from 'commander';
import type { UsableModel, VideoDuration } from '../../sdk/index.ts';
import type { CommandContext } from '../command-context.ts';
import { hasAccount, usesApiKey } from '../credential-provider.ts';
import { loadCreditFormat } from '../credit-format.ts';
import type { SettingName } from '../default-models.ts';
import { UsageError } from '../errors.ts';
import { formatDuration, formatKeyValues, formatTable, phrase, styled, word } from '../output.ts';
import type { RunCommand } from '../run-command.ts';

interface ListOptions {
  readonly kind?: Kind;
  readonly search?: string;
}

const KINDS = ['video', 'chat', 'image'] as const;
type Kind = (typeof KINDS)[number];

const NONE = 'No models. An administrator adds them in the console.';

/** `reelgate models` */
export function addModelsCommand(program: Command, run: RunCommand): void {
  program
    .command('models')
    .addOption(new Option('--kind <kind>', 'only these').choices(KINDS))
    .option('--search <words>', 'only those with every word in the name, the title or the vendor')
    .description('List the models you may use; with a sign-in also what they cost and how long they take')
    .addHelpText('after', '\nExamples:\n  $ reelgate models --kind video\n  $ reelgate models --search "kling pro"')
    .action((options: ListOptions, command: Command) =>
      run(command, async (context) =>
        (await hasAccount(context)) && !usesApiKey() ? listOfAccount(context, options) : listOfKey(context, options),
      ),
    );
}

/** Lists the models of an API key, which only has access to their names. */
async function listOfKey({ reelgate, output }: CommandContext, { kind, search = '' }: ListOptions): Promise<void> {
  if (kind !== undefined) throw new UsageError('--kind needs a sign-in: "reelgate login".');
  const { listModels } = await import('../../contract/models.ts');
  const { data } = await reelgate.transport.call(listModels, { query: {} });
  const found = data.filter(({ id, owned_by }) => hasWords(`${id} ${owned_by}`, search));
  const table = formatTable(
    ['MODEL', 'OWNER'],
    found.map(({ id, owned_by }) => [id, owned_by]),
  );
  output.list(found, table, search === '' ? NONE : `No model has the words "${search}".`);
}

async function listOfAccount(context: CommandContext, { kind, search = '' }: ListOptions): Promise<void> {
  const { reelgate, output } = context;
  const { formatModelPrice } = await import('../model-price.ts');
  const [models, durations, credits] = await Promise.all([
    reelgate.account.models(kind),
    reelgate.account.videoDurations(),
    loadCreditFormat(reelgate),
  ]);
  const found = models
    .filter((model) => hasWords(`${model.id} ${model.capability?.title ?? ''} ${model.vendor_title}`, search))
    .map((model) => ({ ...model, typical: findTypical(durations, model) }));
  const table = formatTable(
    ['MODEL', 'KIND', 'VENDOR', 'PRICE', 'USUALLY TAKES', ''],
    found.map((model) => [
      model.id,
      word(model.kind),
      model.vendor_title,
      formatModelPrice(model, credits),
      model.typical === null ? '' : formatDuration(model.typical.p50_seconds),
      model.permitted ? '' : styled('warning', word('not in your plan')),
    ]),
  );
  output.list(found, table, search === '' ? NONE : `No model has the words "${search}".`);
}

const findTypical = (durations: readonly VideoDuration[], { id }: UsableModel): VideoDuration | null =>
  durations.find(({ model }) => model === id) ?? null;

const hasWords = (text: string, search: string): boolean =>
  search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.toLowerCase().includes(word));

const SETTING_NAMES: readonly SettingName[] = ['video-model', 'chat-model'];

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
  const name = () => new Argument('<name>', 'the setting').choices(SETTING_NAMES);

  config
    .command('list', { isDefault: true })
    .description('Show the settings')
    .action((_options: unknown, command: Command) =>
      run(command, async ({ output, baseUrl }) => {
        const { readSettings } = await importSettings();
        const settings = await readSettings(baseUrl);
        const shown = SETTING_NAMES.map((each) => [each, settings[each] ?? word('not set')] as const);
        output.result({ url: baseUrl, ...settings }, formatKeyValues({ url: baseUrl, ...Object.fromEntries(shown) }));
      }),
    );
  config
    .command('set')
    .addArgument(name())
    .argument('<model>', 'a model of "reelgate models"')
    .description('Set a default')
    .action((setting: SettingName, model: string, _options: unknown, command: Command) =>
      run(command, async (context) => {
        const { output, baseUrl } = context;
        const { writeSetting } = await importSettings();
        await writeSetting(context, setting, model);
        output.result({ url: baseUrl, [setting]: model }, phrase`${setting} of ${baseUrl} is ${model}.`);
      }),
    );
  config
    .command('unset')
    .addArgument(name())
    .description('Remove a default')
    .action((setting: SettingName, _options: unknown, command: Command) =>
      run(command, async (context) => {
        const { output, baseUrl } = context;
        const { writeSetting } = await importSettings();
        await writeSetting(context, setting, undefined);
        output.result({ url: baseUrl, [setting]: null }, phrase`${setting} of ${baseUrl} is not set.`);
      }),
    );
}
