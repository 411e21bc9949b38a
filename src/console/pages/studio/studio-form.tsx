import { Alert, Button, Group, Paper, Stack, Text, UnstyledButton } from '@mantine/core';
import { IconBookmark, IconCode } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { GrowingTextarea } from '../../components/growing-textarea.tsx';
import { LazyDropdownButton } from '../../components/lazy-dropdown-button.tsx';
import type { UsableModel } from '../../data/usable-models-query.ts';
import { CompareModelsPicker } from './compare-models-picker.tsx';
import { bodiesFor, modelsOfDraft } from './compared-models-and-request-bodies.ts';
import {
  controlsFor,
  type Draft,
  type DraftField,
  EMPTY_DRAFT,
  fitDraftToModel,
} from './draft-type-and-fit-to-model.ts';
import { GenerateBar } from './generate-bar.tsx';
import { ImageSlots } from './image-slots.tsx';
import { ModelPicker } from './model-picker.tsx';
import { ParameterControls } from './parameter-controls.tsx';
import { useStudioShortcuts } from './use-studio-shortcuts.ts';
import { useSubmitVideos } from './use-submit-videos.ts';

const VideoCodeSamplesDialog = lazy(() => import('./video-code-samples-dialog.tsx'));
const TemplatesAndDraftsMenu = lazy(() => import('./templates-and-drafts-menu.tsx'));

interface StudioFormProps {
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly replace: (draft: Draft) => void;
  /** Puts videos on the stage. */
  readonly onShow: (taskIds: readonly string[]) => void;
}

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
              limits={controlsFor(model).pictures}
              pictures={draft.pictures}
              onChange={(pictures) => change({ pictures })}
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
  /** Undefined while there is no request to show as code. */
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

/** What another model does not offer and was therefore reset. */
function DroppedFields({ fields, onClose }: { readonly fields: readonly DraftField[]; readonly onClose: () => void }) {
  const { t } = useTranslation(['studio', 'app']);
  if (fields.length === 0) return null;
  return (
    <Alert color="yellow" variant="light" p="xs" withCloseButton closeButtonLabel={t('app:close')} onClose={onClose}>
      {t('dropped', { count: fields.length, fields: joinNames(fields.map((field) => t(`fields.${field}`))) })}
    </Alert>
  );
}

/** "Length, seed": named at the beginning of a sentence. */
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

/** The first reason, as text, why the form cannot be submitted yet; undefined if it can. */
function missingInput(model: UsableModel, draft: Draft, t: T): string | undefined {
  const { min } = controlsFor(model).pictures;
  if (needsPrompt(model) && draft.prompt.trim() === '') return t('promptRequired');
  if (draft.pictures.length < min) return t('pictureNeeded', { count: min });
  return bodiesFor(draft, [model]) === undefined ? t('metadataBroken') : undefined;
}
