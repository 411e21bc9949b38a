import {
  ActionIcon,
  Alert,
  Anchor,
  Button,
  Group,
  InputBase,
  type InputBaseProps,
  Kbd,
  Loader,
  Paper,
  Text,
  UnstyledButton,
} from '@mantine/core';
import { type HotkeyItem, useHotkeys } from '@mantine/hooks';
import { IconAlertTriangle, IconBookmark, IconCode, IconEraser, IconKeyboard, IconSparkles } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type ComponentProps, lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toDisplayedQuota } from '../../../contract/amounts.ts';
import { VIDEO_OPERATIONS, type VideoOperation } from '../../../contract/generation-ways.ts';
import { useAmountUnit, useFormatCredits } from '../../components/credit-amount.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { LazyDropdownButton } from '../../components/lazy-dropdown-button.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { once, pressOnKey, showShortcuts, single, withMod } from '../../components/shortcut-keys.ts';
import { formatCount, formatNames, formatRelativeTime } from '../../data/format-values.ts';
import { canDo, modelTitle, type UsableModel, useSelf } from '../../data/self.ts';
import type { VideoBody, VideoQuote } from '../../data/videos.ts';
import { bodiesFor, type ChangeDraft, type Draft, EMPTY_DRAFT, fitDraftToModel, modelsOfDraft } from './draft.ts';
import { InputList } from './input-list.tsx';
import { type InputTexts, useInputTexts } from './input-texts.ts';
import { checkInputs, type InputCheck } from './inputs.ts';
import { CompareModelsPicker, ModelPicker } from './model-picker.tsx';
import { cheapestModel, useTotalPrice } from './models.ts';
import { MoreParameters, ParameterChips } from './parameter-controls.tsx';
import type { useSubmitVideos } from './remix-actions.ts';
import type { InputUploads } from './uploads.ts';

const ImprovePrompt = lazy(() => import('./improve-prompt.tsx'));
const VideoCodeSamplesDialog = lazy(() => import('./video-samples-dialog.tsx'));
const TemplatesAndDraftsMenu = lazy(() => import('./templates-menu.tsx'));

interface StudioFormProps {
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly change: ChangeDraft;
  readonly replace: (draft: Draft) => void;
  readonly uploads: InputUploads;
  readonly run: ReturnType<typeof useSubmitVideos>;
  /** Explains a change of the form that the user did not make; empty: none. */
  readonly notice: string;
  readonly onNotice: (text: string) => void;
  /** Chat model that improves prompts; undefined: not offered. */
  readonly promptModel: UsableModel | undefined;
  /** The newest result, beside the button where the page is narrow. */
  readonly mini: ReactNode;
}

/** The prompt bar: prompt, inputs, and settings as chips, with the price on the submit button. */
export function StudioForm(props: StudioFormProps) {
  const { models, draft, change, replace, uploads, run, notice, onNotice, promptModel, mini } = props;
  const { t } = useTranslation(['studio', 'app']);
  const [isExpanded, setExpanded] = useState(draft.negative !== '' || draft.seed !== '' || draft.metadata !== '');
  const [isCodeShown, setCodeShown] = useState(false);
  const [picking, setPicking] = useState(false);
  const texts = useInputTexts();
  const usable = models.filter((each) => canDo(each, draft.operation));
  const model = models.find(({ id }) => id === draft.model);
  const check = checkInputs(model, draft.operation, draft.inputs);
  const compared = modelsOfDraft(draft, models);
  const missing = missingInput(model, draft, check, texts, t) ?? unfitForCompared(compared.slice(1), draft, texts, t);
  const bodies = missing === undefined ? bodiesFor(draft, compared) : undefined;
  const submit = (): void => {
    if (bodies !== undefined && bodies.length > 0 && !run.isPending) run.mutate(bodies);
  };
  useStudioShortcuts({
    submit,
    pickModel: () => setPicking(true),
  });
  const { fit, changeOperation } = useFormChanges({ models, draft, model, replace, onNotice });
  useFittingParameters(draft, model, fit);
  return (
    <Paper withBorder component="form" className="composer" onSubmit={(event) => event.preventDefault()}>
      <div className="composer-head">
        <OperationControl models={models} value={draft.operation} onChange={changeOperation} />
        <FormTools
          draft={draft}
          replace={replace}
          onClear={() => replace(emptyForm(model))}
          onShowCode={model === undefined ? undefined : () => setCodeShown(true)}
        />
      </div>
      <Notice text={notice} onClose={() => onNotice('')} />
      <PromptField draft={draft} isRequired={needsPrompt(model)} change={change} />
      <PromptHelp draft={draft} change={change} model={promptModel} />
      {model === undefined ? null : (
        <InputList model={model} draft={draft} check={check} uploads={uploads} change={change} />
      )}
      <div className="composer-foot">
        <div className="chips">
          <ModelPicker
            models={usable}
            draft={draft}
            opened={picking}
            setOpened={setPicking}
            onChange={(next) => fit(draft, next)}
          />
          {model === undefined ? null : (
            <ParameterChips
              model={model}
              draft={draft}
              onChange={change}
              isExpanded={isExpanded}
              onExpand={setExpanded}
            />
          )}
          <CompareModelsPicker models={usable} draft={draft} onChange={(compare) => change({ compare })} />
        </div>
        <GenerateBar {...{ bodies, missing, run, mini }} onRun={submit} />
      </div>
      {model === undefined ? null : (
        <MoreParameters key={model.id} model={model} draft={draft} onChange={change} isExpanded={isExpanded} />
      )}
      {isCodeShown && model !== undefined ? (
        <Suspense>
          <VideoCodeSamplesDialog
            body={bodiesFor(draft, [model])?.[0] ?? { model: model.id }}
            onClose={() => setCodeShown(false)}
          />
        </Suspense>
      ) : null}
    </Paper>
  );
}

interface FormChangesOptions extends Pick<StudioFormProps, 'models' | 'draft' | 'replace' | 'onNotice'> {
  readonly model: UsableModel | undefined;
}

/** Changes of the form that affect other fields, each explained by a notice. */
function useFormChanges({ models, draft, model, replace, onNotice }: FormChangesOptions) {
  const { t } = useTranslation('studio');
  const fit = (next: Draft, to: UsableModel): void => {
    const { draft: fitted, dropped } = fitDraftToModel(next, to);
    replace(fitted);
    if (dropped.length === 0) onNotice('');
    else
      onNotice(
        t('dropped', { count: dropped.length, fields: joinNames(dropped.map((field) => t(`fields.${field}`))) }),
      );
  };
  const changeOperation = (operation: VideoOperation): void => {
    const own = model !== undefined && canDo(model, operation) ? model : undefined;
    const next = own ?? cheapestModel(models, operation);
    if (next === undefined) return;
    fit({ ...draft, operation, inputs: withSource(draft.inputs, operation) }, next);
    if (own === undefined && model !== undefined && operation !== 'generate')
      onNotice(t(`otherModel.${operation}`, { model: modelTitle(model), other: modelTitle(next) }));
  };
  return { fit, changeOperation };
}

/** Resets parameters that the inputs, the resolution or the operation no longer permit. */
function useFittingParameters(
  draft: Draft,
  model: UsableModel | undefined,
  fit: (draft: Draft, model: UsableModel) => void,
): void {
  const current = useRef({ draft, model, fit });
  current.current = { draft, model, fit };
  const { inputs, resolution, operation } = draft;
  // biome-ignore lint/correctness/useExhaustiveDependencies: these are the parts that decide about the others
  useEffect(() => {
    const { draft: whole, model: of, fit: apply } = current.current;
    if (of === undefined) return;
    const fitted = fitDraftToModel(whole, of);
    if (fitted.dropped.length > 0 || fitted.draft.seconds !== whole.seconds) apply(whole, of);
  }, [inputs, resolution, operation]);
}

/** An edit or extension needs a source, which a new video has not. */
function withSource(inputs: Draft['inputs'], operation: VideoOperation): Draft['inputs'] {
  if (operation === 'generate')
    return inputs.map((input) => (input.role === 'source' ? { ...input, role: 'reference' as const } : input));
  if (inputs.some(({ role }) => role === 'source')) return inputs;
  const video = inputs.find(({ type }) => type === 'video');
  return inputs.map((input) => (input === video ? { ...input, role: 'source' as const } : input));
}

interface OperationControlProps {
  readonly models: readonly UsableModel[];
  readonly value: VideoOperation;
  readonly onChange: (operation: VideoOperation) => void;
}

/** Switches between a new video, an edit and an extension; hidden if no model can change videos. */
function OperationControl({ models, value, onChange }: OperationControlProps) {
  const { t } = useTranslation('studio');
  const offered = VIDEO_OPERATIONS.filter(
    (operation) =>
      operation === 'generate' ||
      operation === value ||
      models.some((model) => model.permitted && canDo(model, operation)),
  );
  if (offered.length < 2) return null;
  return (
    <SegmentedControl
      size="xs"
      aria-label={t('operation')}
      data={offered.map((operation) => ({ value: operation, label: t(`operations.${operation}`) }))}
      value={value}
      onChange={onChange}
    />
  );
}

interface FormToolsProps {
  readonly draft: Draft;
  readonly replace: (draft: Draft) => void;
  readonly onClear: () => void;
  /** Undefined while there is no valid request to show as code. */
  readonly onShowCode: (() => void) | undefined;
}

/** Templates, clearing, code samples and the list of shortcuts. */
function FormTools({ draft, replace, onClear, onShowCode }: FormToolsProps) {
  const { t } = useTranslation('studio');
  return (
    <Group gap={0} wrap="nowrap">
      <LazyDropdownButton
        dropdown={(button) => <TemplatesAndDraftsMenu target={button} draft={draft} onUse={replace} />}
        popup="menu"
        button={
          <ActionIcon size="lg" data-hint={t('templates')} aria-label={t('templates')}>
            <IconBookmark size={18} />
          </ActionIcon>
        }
      />
      <ActionIcon size="lg" data-hint={t('clear')} aria-label={t('clear')} onClick={onClear}>
        <IconEraser size={18} />
      </ActionIcon>
      <ActionIcon
        size="lg"
        data-hint={t('code')}
        aria-label={t('code')}
        disabled={onShowCode === undefined}
        onClick={onShowCode}
      >
        <IconCode size={18} />
      </ActionIcon>
      <ActionIcon
        size="lg"
        visibleFrom="sm"
        data-hint={t('shortcuts')}
        aria-label={t('shortcuts')}
        onClick={showShortcuts}
      >
        <IconKeyboard size={18} />
      </ActionIcon>
    </Group>
  );
}

/** Explains a change of the form. */
function Notice({ text, onClose }: { readonly text: string; readonly onClose: () => void }) {
  const { t } = useTranslation(['studio', 'app']);
  if (text === '') return null;
  return (
    <Alert
      color="yellow"
      variant="light"
      p="xs"
      role="status"
      withCloseButton
      closeButtonLabel={t('app:close')}
      onClose={onClose}
    >
      {text}
    </Alert>
  );
}

/** "Length, seed": joined names with a capital first letter, as at the start of a sentence. */
function joinNames(names: readonly string[]): string {
  const text = formatNames(names);
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

interface PromptFieldProps {
  readonly draft: Draft;
  readonly isRequired: boolean;
  readonly change: ChangeDraft;
}

function PromptField({ draft: { operation, prompt }, isRequired, change }: PromptFieldProps) {
  const { t } = useTranslation('studio');
  return (
    <GrowingTextarea
      id="prompt"
      variant="unstyled"
      size="md"
      aria-label={t('prompt')}
      placeholder={t(operation === 'generate' ? 'promptPlaceholder' : `promptFor.${operation}`)}
      required={isRequired}
      aria-keyshortcuts="/"
      value={prompt}
      onChange={(event) => change({ prompt: event.currentTarget.value })}
      minRows={2}
      maxRows={12}
      maxLength={32_000}
    />
  );
}

interface PromptHelpProps {
  readonly draft: Draft;
  readonly change: ChangeDraft;
  /** The operator's chat model. */
  readonly model: UsableModel | undefined;
}

/** Examples for an empty prompt; for one with a text, a chat model that improves it. */
function PromptHelp({ draft, change, model }: PromptHelpProps) {
  if (draft.prompt === '')
    return draft.operation === 'generate' ? <Examples onChoose={(prompt) => change({ prompt })} /> : null;
  if (model === undefined) return null;
  return (
    <Suspense>
      <div className="chips">
        <ImprovePrompt model={model} draft={draft} change={change} />
      </div>
    </Suspense>
  );
}

function Examples({ onChoose }: { readonly onChoose: (prompt: string) => void }) {
  const { t } = useTranslation('studio');
  return (
    <Group gap={6} wrap="nowrap" className="examples">
      <Text size="xs" c="dimmed">
        {t('examples')}
      </Text>
      {(['example1', 'example2', 'example3'] as const).map((example) => (
        <UnstyledButton key={example} className="example" onClick={() => onChoose(t(example))}>
          {t(example)}
        </UnstyledButton>
      ))}
    </Group>
  );
}

/** Without a media schema a prompt is required; with one the schema decides. */
function needsPrompt(model: UsableModel | undefined): boolean {
  const required = (model?.input_schema as { required?: readonly string[] } | null | undefined)?.required;
  return model?.input_schema == null || required?.includes('prompt') === true;
}

type T = ReturnType<typeof useTranslation<'studio'>>['t'];

/** A form with every default, for the same model. */
const emptyForm = (model: UsableModel | undefined): Draft =>
  model === undefined ? EMPTY_DRAFT : fitDraftToModel({ ...EMPTY_DRAFT, model: model.id }, model).draft;

/** First reason why the form cannot be submitted yet, as text; undefined if it can. */
function missingInput(
  model: UsableModel | undefined,
  draft: Draft,
  check: InputCheck,
  texts: InputTexts,
  t: T,
): string | undefined {
  if (model === undefined || !canDo(model, draft.operation)) return t('modelPlaceholder');
  if (needsPrompt(model) && draft.prompt.trim() === '') return t(`promptNeeded.${draft.operation}`);
  if (check.problems.size > 0) return t('inputsUnfit');
  if (check.missing.length > 0) return t('inputsMissing', { inputs: formatNames(check.missing.map(texts.rule)) });
  if (draft.inputs.some(({ source }) => source === undefined)) return t('uploadsRunning');
  return bodiesFor(draft, [model]) === undefined ? t('metadataBroken') : undefined;
}

/** Names the compared models that cannot use the inputs, or else what the first of them lacks. */
function unfitForCompared(
  models: readonly UsableModel[],
  { operation, inputs }: Draft,
  texts: InputTexts,
  t: T,
): string | undefined {
  const checked = models.map((model) => ({ model, ...checkInputs(model, operation, inputs) }));
  const unfit = checked.filter(({ problems }) => problems.size > 0).map(({ model }) => modelTitle(model));
  if (unfit.length > 0) return t('unfitForCompared', { models: formatNames(unfit) });
  const lacking = checked.find(({ missing }) => missing.length > 0);
  return (
    lacking &&
    t('lackingForCompared', {
      model: modelTitle(lacking.model),
      inputs: formatNames(lacking.missing.map(texts.rule)),
    })
  );
}

interface GenerateBarProps {
  /** One request per model; undefined while the form is incomplete. */
  readonly bodies: readonly VideoBody[] | undefined;
  /** Text naming the missing input. */
  readonly missing: string | undefined;
  readonly run: Pick<ReturnType<typeof useSubmitVideos>, 'isPending' | 'error'>;
  readonly onRun: () => void;
  /** Beside the button where the page is narrow. */
  readonly mini: ReactNode;
}

/** Submit button with the price, and the balance that remains; where the page is narrow the button is pinned below. */
function GenerateBar({ bodies, missing, run, onRun, mini }: GenerateBarProps) {
  const { isPending: busy, error } = run;
  const { t } = useTranslation('studio');
  const formatCredits = useFormatCredits();
  const unit = useAmountUnit();
  const { data: self } = useSelf();
  const price = useTotalPrice(bodies);
  const { quota: cost, fromBalance } = price;
  const left = self === undefined || fromBalance === null ? undefined : self.quota - fromBalance;
  const isShort = left !== undefined && left < 0;
  const count = bodies?.length ?? 1;
  const label = (): string => (cost === null ? t('run') : t('runPrice', { price: formatCredits(cost) }));
  const labelOfMany = (): string =>
    cost === null ? t('runMany', { count }) : t('runManyPrice', { count, price: formatCredits(cost) });
  // With a plan, a low balance does not block submitting; the service decides.
  const hint = missing ?? describeBalance();
  function describeBalance(): string {
    if (left === undefined) return '';
    if (left < 0) return t('missing', { amount: formatCredits(-left) });
    // Of the displayed amounts, so that the balance above minus the price on the button is this one.
    const shown = toDisplayedQuota(self?.quota ?? 0, unit) - toDisplayedQuota(fromBalance ?? 0, unit);
    return t(fromBalance === 0 && cost !== 0 ? 'paidByPlan' : 'balanceAfter', {
      balance: formatCredits(Math.max(0, shown)),
    });
  }
  return (
    <div className="run">
      <div className="run-bar">
        {mini}
        {/* Not disabled while it submits: a disabled button would lose the focus. */}
        <Button
          id="generate"
          size="md"
          variant={isShort ? 'light' : 'filled'}
          leftSection={busy ? <Loader size={16} color="currentColor" /> : <IconSparkles size={17} />}
          rightSection={
            <Kbd size="xs" className="run-keys" aria-hidden>
              {withMod('Enter')}
            </Kbd>
          }
          aria-busy={busy}
          disabled={bodies === undefined}
          onClick={onRun}
        >
          {count > 1 ? labelOfMany() : label()}
        </Button>
      </div>
      {/* Two lines are reserved, so that the arrival of the quote does not move the form. */}
      <div className="run-hints">
        <Text size="xs" {...(isShort ? { className: 'error-text' } : { c: 'dimmed' })} lineClamp={2}>
          {hint}{' '}
          {isShort && missing === undefined ? (
            <Anchor size="xs" renderRoot={(props) => <Link to="/packages" {...props} />}>
              {t('getCredits')}
            </Anchor>
          ) : null}
        </Text>
        {price.quote === null || missing !== undefined ? null : <AffordableVideosHint quote={price.quote} />}
      </div>
      {isShort && error !== null && cost !== null && self !== undefined ? (
        // The service counts in quota; the message uses credits, like the rest of the console.
        <Alert color="red" icon={<IconAlertTriangle />} role="alert">
          {t('notEnough', { price: formatCredits(cost), balance: formatCredits(self.quota) })}
        </Alert>
      ) : (
        <ErrorAlert error={error ?? price.error} />
      )}
    </div>
  );
}

/** How many such videos the account can pay for now and today, and when a used allowance is renewed. */
function AffordableVideosHint({ quote }: { readonly quote: VideoQuote }) {
  const { t } = useTranslation('studio');
  const formatCredits = useFormatCredits();
  const { how_many_now: now, how_many_today: today } = quote;
  const isMoreToday = now !== null && today !== null && today > now;
  const parts = [
    ...(now === null || now === 0
      ? []
      : [t(isMoreToday ? 'enoughToday' : 'enoughNow', { now: formatCount(now), today: formatCount(today ?? 0) })]),
    ...quote.windows
      .filter(({ left, limit }) => left < limit)
      .map(({ kind, left, limit, full_again }) =>
        t('allowanceLeft', {
          name: t(`windows.${kind}`),
          left: formatCredits(left),
          limit: formatCredits(limit),
          when: formatRelativeTime(full_again),
        }),
      ),
  ];
  if (parts.length === 0) return null;
  return (
    <Text size="xs" c="dimmed" data-quote>
      {parts.join(' ')}
    </Text>
  );
}

interface StudioKeys {
  readonly submit: () => void;
  readonly pickModel: () => void;
}

const focus = (selector: string): void => document.querySelector<HTMLElement>(selector)?.focus();

/**
 * Keyboard shortcuts of the studio: letters work outside of inputs, Ctrl + Enter everywhere. Buttons declare theirs in
 * `aria-keyshortcuts`.
 */
function useStudioShortcuts({ submit, pickModel }: StudioKeys): void {
  useHotkeys([
    ['m', single(pickModel)],
    ['/', single(() => focus('#prompt'))],
    ['h', single(() => focus('.tile'))],
    ...['c', 'r', 'v', 'e', 'd', 'l'].map((key): HotkeyItem => [key, pressOnKey(key)]),
  ]);
  useHotkeys([['mod+Enter', once(submit)]], []);
}

interface GrowingTextareaProps extends InputBaseProps, Omit<ComponentProps<'textarea'>, keyof InputBaseProps> {
  readonly minRows: number;
  readonly maxRows: number;
}

/** CSS Basic User Interface 4, section 5.2. */
const CAN_SIZE_BY_CSS = CSS.supports('field-sizing', 'content');

const AutosizeTextarea = lazy(async () => ({ default: (await import('./advanced-fields.tsx')).AutosizeTextarea }));

/** Height of the given number of rows, with padding and border. */
const heightOf = (rows: number): string => `calc(${rows} * 1lh + 2 * var(--input-padding-y) + 2px)`;

/**
 * A text area that grows with its content. Uses CSS where supported: Mantine measures a hidden second field, which
 * causes two layouts before the first paint, and whose code is loaded only where it is needed.
 */
function GrowingTextarea({ minRows, maxRows, ...others }: GrowingTextareaProps) {
  return CAN_SIZE_BY_CSS ? (
    <InputBase
      component="textarea"
      multiline
      {...others}
      classNames={{ input: 'growing' }}
      styles={{ input: { minHeight: heightOf(minRows), maxHeight: heightOf(maxRows) } }}
    />
  ) : (
    <Suspense>
      <AutosizeTextarea {...others} autosize minRows={minRows} maxRows={maxRows} />
    </Suspense>
  );
}
