import {
  ActionIcon,
  Alert,
  Anchor,
  Box,
  Button,
  Group,
  Kbd,
  Paper,
  Pill,
  Stack,
  Text,
  UnstyledButton,
} from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import {
  IconAlertTriangle,
  IconBookmark,
  IconCode,
  IconColumns,
  IconPlayerPlayFilled,
  IconPlus,
} from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormatCredits } from '../../components/credit-amount.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { LazyDropdownButton } from '../../components/lazy-dropdown-button.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { formatRelativeTime } from '../../data/format-times.ts';
import type { UsableModel } from '../../data/models.ts';
import { selfQuery, useSelf } from '../../data/self.ts';
import { submitVideo, type VideoBody, type VideoQuote, videosQuery } from '../../data/videos.ts';
import { NEWEST_VIDEOS_COUNT } from '../../studio-start.ts';
import {
  bodiesFor,
  controlsFor,
  type Draft,
  type DraftField,
  EMPTY_DRAFT,
  fitDraftToModel,
  MAX_COMPARED,
  modelsOfDraft,
  toggleCompared,
} from './draft.ts';
import { ImageSlots } from './image-slots.tsx';
import { ModelPicker } from './model-picker.tsx';
import { addRecentModels, modelLabel, useTotalPrice } from './models.ts';
import { GrowingTextarea, ParameterControls } from './parameter-controls.tsx';

const VideoCodeSamplesDialog = lazy(() => import('./video-samples-dialog.tsx'));
const TemplatesAndDraftsMenu = lazy(() => import('./templates-menu.tsx'));

interface StudioFormProps {
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly replace: (draft: Draft) => void;
  /** Shows videos on the stage. */
  readonly onShow: (taskIds: readonly string[]) => void;
}

/** The studio's form: prompt, model, images, parameters, price and submit button. */
export function StudioForm({ models, draft, change, replace, onShow }: StudioFormProps) {
  const { t } = useTranslation(['studio', 'app']);
  const [dropped, setDropped] = useState<readonly DraftField[]>([]);
  const [code, setCode] = useState(false);
  const [picking, setPicking] = useState(false);
  const model = models.find(({ id }) => id === draft.model);
  const missing = model === undefined ? t('modelPlaceholder') : missingInput(model, draft, t);
  const bodies = missing === undefined ? bodiesFor(draft, modelsOfDraft(draft, models)) : undefined;
  const run = useSubmitVideos(onShow);
  const submit = (): void => {
    if (bodies !== undefined && bodies.length > 0 && !run.isPending) run.mutate(bodies);
  };
  useStudioShortcuts({ submit, pickModel: () => setPicking(true) });
  const selectModel = (next: UsableModel): void => {
    const fitted = fitDraftToModel(draft, next);
    replace(fitted.draft);
    setDropped(fitted.dropped);
  };
  return (
    <Paper withBorder p={{ base: 'md', sm: 'lg' }} component="form" onSubmit={(event) => event.preventDefault()}>
      <Stack gap="md">
        <Stack gap={6}>
          <ModelPicker models={models} draft={draft} opened={picking} setOpened={setPicking} onChange={selectModel} />
          <CompareModelsPicker models={models} draft={draft} onChange={(compare) => change({ compare })} />
        </Stack>
        <DroppedFields fields={dropped} onClose={() => setDropped([])} />
        <GrowingTextarea
          id="prompt"
          label={t('prompt')}
          placeholder={t('promptPlaceholder')}
          withAsterisk={needsPrompt(model)}
          aria-keyshortcuts="/"
          value={draft.prompt}
          onChange={(event) => change({ prompt: event.currentTarget.value })}
          minRows={4}
          maxRows={14}
          maxLength={32_000}
        />
        {draft.prompt === '' ? <Examples onChoose={(prompt) => change({ prompt })} /> : null}
        {model === undefined ? null : (
          <>
            <ImageSlots
              limits={controlsFor(model).images}
              images={draft.images}
              onChange={(images) => change({ images })}
            />
            <ParameterControls key={model.id} model={model} draft={draft} onChange={change} />
          </>
        )}
        <div className="run-bar">
          <GenerateBar bodies={bodies} missing={missing} busy={run.isPending} error={run.error} onRun={submit} />
        </div>
        <FormFooter
          draft={draft}
          replace={replace}
          onClear={() =>
            replace(
              model === undefined ? EMPTY_DRAFT : fitDraftToModel({ ...EMPTY_DRAFT, model: model.id }, model).draft,
            )
          }
          onShowCode={model === undefined ? undefined : () => setCode(true)}
        />
      </Stack>
      {code && model !== undefined ? (
        <Suspense>
          <VideoCodeSamplesDialog
            body={bodiesFor(draft, [model])?.[0] ?? { model: model.id }}
            onClose={() => setCode(false)}
          />
        </Suspense>
      ) : null}
    </Paper>
  );
}

interface FormFooterProps {
  readonly draft: Draft;
  readonly replace: (draft: Draft) => void;
  readonly onClear: () => void;
  /** Undefined while there is no valid request to show as code. */
  readonly onShowCode: (() => void) | undefined;
}

function FormFooter({ draft, replace, onClear, onShowCode }: FormFooterProps) {
  const { t } = useTranslation('studio');
  return (
    <Group justify="space-between">
      <LazyDropdownButton
        dropdown={(button) => <TemplatesAndDraftsMenu target={button} draft={draft} onUse={replace} />}
        popup="menu"
        button={
          <Button size="compact-sm" variant="subtle" color="gray" leftSection={<IconBookmark size={15} />}>
            {t('templates')}
          </Button>
        }
      />
      <Button size="compact-sm" variant="subtle" color="gray" onClick={onClear}>
        {t('clear')}
      </Button>
      <Button
        size="compact-sm"
        variant="subtle"
        color="gray"
        leftSection={<IconCode size={15} />}
        disabled={onShowCode === undefined}
        onClick={onShowCode}
      >
        {t('code')}
      </Button>
    </Group>
  );
}

/** Parameters that were reset because the new model does not support them. */
function DroppedFields({ fields, onClose }: { readonly fields: readonly DraftField[]; readonly onClose: () => void }) {
  const { t } = useTranslation(['studio', 'app']);
  if (fields.length === 0) return null;
  return (
    <Alert color="yellow" variant="light" p="xs" withCloseButton closeButtonLabel={t('app:close')} onClose={onClose}>
      {t('dropped', { count: fields.length, fields: joinNames(fields.map((field) => t(`fields.${field}`))) })}
    </Alert>
  );
}

/** "Length, seed": joined names with a capital first letter, as at the start of a sentence. */
function joinNames(names: readonly string[]): string {
  const text = names.join(', ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function Examples({ onChoose }: { readonly onChoose: (prompt: string) => void }) {
  const { t } = useTranslation('studio');
  return (
    <Stack gap={4} align="flex-start">
      <Text size="xs" c="dimmed">
        {t('examples')}
      </Text>
      {(['example1', 'example2', 'example3'] as const).map((example) => (
        <UnstyledButton key={example} className="example" onClick={() => onChoose(t(example))}>
          <Text size="xs" truncate>
            {t(example)}
          </Text>
        </UnstyledButton>
      ))}
    </Stack>
  );
}

/** Without a media schema a prompt is required; with one the schema decides. */
function needsPrompt(model: UsableModel | undefined): boolean {
  const required = (model?.input_schema as { required?: readonly string[] } | null | undefined)?.required;
  return model?.input_schema == null || required?.includes('prompt') === true;
}

type T = ReturnType<typeof useTranslation<'studio'>>['t'];

/** First reason why the form cannot be submitted yet, as text; undefined if it can. */
function missingInput(model: UsableModel, draft: Draft, t: T): string | undefined {
  const { min } = controlsFor(model).images;
  if (needsPrompt(model) && draft.prompt.trim() === '') return t('promptRequired');
  if (draft.images.length < min) return t('imageNeeded', { count: min });
  return bodiesFor(draft, [model]) === undefined ? t('metadataBroken') : undefined;
}

const ModelGrid = lazy(() => import('./model-grid.tsx'));

interface ComparePickerProps {
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly onChange: (compare: Draft['compare']) => void;
}

/** Selects further models to generate the same video with; up to four in total. */
function CompareModelsPicker({ models, draft, onChange }: ComparePickerProps) {
  const { t } = useTranslation('studio');
  const [opened, setOpened] = useState(false);
  const others = modelsOfDraft(draft, models).slice(1);
  const close = (): void => setOpened(false);
  const toggle = (id: string): void => {
    const compare = toggleCompared(draft, id);
    onChange(compare);
    if (compare.length >= MAX_COMPARED - 1) close();
  };
  return (
    <>
      {others.length === 0 ? (
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          leftSection={<IconColumns size={15} />}
          aria-keyshortcuts="c"
          data-compare
          style={{ alignSelf: 'flex-start' }}
          onClick={() => setOpened(true)}
        >
          {t('compare')}
        </Button>
      ) : (
        <Group gap={6}>
          {others.map((model) => (
            <Pill
              key={model.id}
              size="md"
              withRemoveButton
              onRemove={() => onChange(toggleCompared(draft, model.id))}
              removeButtonProps={{
                'aria-label': t('compareRemove', { model: modelLabel(model) }),
                'aria-hidden': false,
                tabIndex: 0,
              }}
            >
              {modelLabel(model)}
            </Pill>
          ))}
          {others.length < MAX_COMPARED - 1 ? (
            <ActionIcon aria-label={t('compare')} data-compare onClick={() => setOpened(true)}>
              <IconPlus size={16} />
            </ActionIcon>
          ) : null}
        </Group>
      )}
      {opened ? (
        <Suspense>
          <ModelGrid
            title={t('compareTitle')}
            models={models.filter(({ id }) => id !== draft.model)}
            draft={draft}
            selected={draft.compare}
            onSelect={({ id }) => toggle(id)}
            onClose={close}
          />
        </Suspense>
      ) : null}
    </>
  );
}

interface GenerateBarProps {
  /** One request per model; undefined while the form is incomplete. */
  readonly bodies: readonly VideoBody[] | undefined;
  /** Text naming the missing input. */
  readonly missing: string | undefined;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onRun: () => void;
}

/** Submit button with the price, and the balance that remains. */
function GenerateBar({ bodies, missing, busy, error, onRun }: GenerateBarProps) {
  const { t } = useTranslation('studio');
  const formatCredits = useFormatCredits();
  const { data: self } = useSelf();
  const price = useTotalPrice(bodies);
  const cost = price.quota;
  // For a single video the quote says how much the plan pays; several are counted against the wallet.
  const fromBalance = price.quote === null ? cost : price.quote.from_wallet;
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
    return t(fromBalance === 0 && cost !== 0 ? 'paidByPlan' : 'balanceAfter', { balance: formatCredits(left) });
  }
  return (
    <Stack gap="xs">
      {isShort && error !== null && cost !== null && self !== undefined ? (
        // The service counts in quota; the message uses credits, like the rest of the console.
        <Alert color="red" icon={<IconAlertTriangle />} role="alert">
          {t('notEnough', { price: formatCredits(cost), balance: formatCredits(self.quota) })}
        </Alert>
      ) : (
        <ErrorAlert error={error ?? price.error} />
      )}
      <Button
        id="generate"
        size="md"
        fullWidth
        leftSection={<IconPlayerPlayFilled size={16} />}
        loading={busy}
        disabled={bodies === undefined}
        onClick={onRun}
      >
        {count > 1 ? labelOfMany() : label()}
      </Button>
      <Group justify="space-between" mih={24} wrap="nowrap">
        <Text size="xs" c={isShort ? 'var(--mantine-color-error)' : 'dimmed'}>
          {hint}{' '}
          {isShort && missing === undefined ? (
            <Anchor size="xs" renderRoot={(props) => <Link to="/packages" {...props} />}>
              {t('getCredits')}
            </Anchor>
          ) : null}
        </Text>
        <Kbd size="xs" visibleFrom="sm">
          {t('shortcut')}
        </Kbd>
      </Group>
      {/* Reserves the line's height, so that the arrival of the quote does not move the button away from a click in progress. */}
      <Box mih="calc(var(--mantine-font-size-xs) * var(--mantine-line-height-xs))">
        {price.quote === null || missing !== undefined ? null : <AffordableVideosHint quote={price.quote} />}
      </Box>
    </Stack>
  );
}

/** How many such videos the account can pay for now and today, and when a used allowance is renewed. */
function AffordableVideosHint({ quote }: { readonly quote: VideoQuote }) {
  const { t } = useTranslation('studio');
  const formatCredits = useFormatCredits();
  const { how_many_now: now, how_many_today: today } = quote;
  const isMoreToday = now !== null && today !== null && today > now;
  const parts = [
    ...(now === null || now === 0 ? [] : [t(isMoreToday ? 'enoughToday' : 'enoughNow', { now, today })]),
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

/**
 * Submits one request per video and shows the resulting videos. Idempotency keys are renewed after each click, so a
 * retried request starts no second video. A request refused by a vendor becomes a failed video: the list shows its
 * reason in our words, so the vendor's error is not shown in the form.
 */
function useSubmitVideos(onShow: (taskIds: readonly string[]) => void) {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  const press = useRef(crypto.randomUUID());
  return useMutation({
    mutationFn: async (bodies: readonly VideoBody[]) => {
      const before = await queries.ensureQueryData(videosQuery(1, NEWEST_VIDEOS_COUNT));
      const known = new Set(before.data.map(({ task_id }) => task_id));
      const results = await Promise.allSettled(
        bodies.map((body, index) => submitVideo(body, index === 0 ? press.current : `${press.current}-${index}`)),
      );
      const started = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
      const [error] = results.flatMap((each) => (each.status === 'rejected' ? [each.reason as Error] : []));
      const list = await queries.fetchQuery({ ...videosQuery(1, NEWEST_VIDEOS_COUNT), staleTime: 0 });
      const refused = list.data.filter(
        ({ task_id, status, model }) =>
          status === 'FAILURE' && !known.has(task_id) && bodies.some((body) => body.model === model),
      );
      if (started.length > 0) addRecentModels(bodies.map(({ model }) => model));
      const shown = [...started, ...refused.map(({ task_id }) => task_id)];
      if (shown.length > 0) onShow([...new Set(shown)]);
      if (error !== undefined && refused.length === 0) throw error;
      return started;
    },
    onSettled: async () => {
      press.current = crypto.randomUUID();
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
    onSuccess: (started) => {
      if (started.length > 0) toasts.success(t('started', { count: started.length }));
    },
  });
}

interface StudioKeys {
  readonly submit: () => void;
  readonly pickModel: () => void;
}

const focus = (selector: string): void => document.querySelector<HTMLElement>(selector)?.focus();
/** Clicks the button with the given `aria-keyshortcuts`. */
const press = (key: string): void => document.querySelector<HTMLElement>(`[aria-keyshortcuts="${key}"]`)?.click();
/** Ignores shortcuts while a dialog is open. */
const outsideDialogs = (act: () => void) => () => {
  if (document.querySelector('[role=dialog]') === null) act();
};

/**
 * Keyboard shortcuts of the studio: letters work outside of inputs, Ctrl + Enter everywhere. Buttons declare theirs in
 * `aria-keyshortcuts`.
 */
function useStudioShortcuts({ submit, pickModel }: StudioKeys): void {
  useHotkeys([
    ['m', outsideDialogs(pickModel)],
    ['/', outsideDialogs(() => focus('#prompt'))],
    ['h', outsideDialogs(() => focus('.strip [aria-pressed=true], .strip button'))],
    ...['c', 'r', 'v', 'e', 'l'].map((key) => [key, outsideDialogs(() => press(key))] as [string, () => void]),
  ]);
  useHotkeys([['mod+Enter', outsideDialogs(submit)]], []);
}
