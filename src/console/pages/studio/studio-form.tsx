import { Alert, Button, Group, Paper, Stack, Text, Textarea, UnstyledButton } from '@mantine/core';
import { IconCode } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { UsableModel } from '../../data/models.ts';
import { selfQuery } from '../../data/queries.ts';
import { submitVideo, type VideoBody } from '../../data/videos.ts';
import { useNotices } from '../../parts/notices.tsx';
import { CodeDialog } from './code-dialog.tsx';
import { controlsOf, type Draft, type DraftField, EMPTY_DRAFT, fit } from './draft.ts';
import { ModelPicker } from './model-picker.tsx';
import { Parameters } from './parameters.tsx';
import { PictureSlots } from './picture-slots.tsx';
import { RunBar } from './run-bar.tsx';
import { toBody } from './wire-fields.ts';

interface StudioFormProps {
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly replace: (draft: Draft) => void;
}

export function StudioForm({ models, draft, change, replace }: StudioFormProps) {
  const { t } = useTranslation(['studio', 'shell']);
  const queries = useQueryClient();
  const notices = useNotices();
  const [dropped, setDropped] = useState<readonly DraftField[]>([]);
  const [code, setCode] = useState(false);
  const model = models.find(({ id }) => id === draft.model);
  const missing = model === undefined ? t('modelPlaceholder') : missingOf(model, draft, t);
  const body = model === undefined || missing !== undefined ? undefined : bodyOf(draft, model);
  // One press, one video: a key is made anew once its video has begun.
  const key = useRef(crypto.randomUUID());
  const run = useMutation({
    mutationFn: (wish: VideoBody) => submitVideo(wish, key.current),
    onSettled: () => {
      key.current = crypto.randomUUID();
    },
    onSuccess: async () => {
      notices.done(t('started'));
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['videos', 'list'] }),
        queries.invalidateQueries({ queryKey: selfQuery.queryKey }),
      ]);
    },
  });
  const start = (): void => {
    if (body !== undefined && !run.isPending) run.mutate(body);
  };
  const choose = (next: UsableModel): void => {
    const fitted = fit(draft, next);
    replace(fitted.draft);
    setDropped(fitted.dropped);
  };
  return (
    <Paper
      withBorder
      p={{ base: 'md', sm: 'lg' }}
      component="form"
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) start();
      }}
    >
      <Stack gap="md">
        <ModelPicker models={models} value={draft.model} onChange={choose} />
        {dropped.length === 0 ? null : (
          <Alert
            color="yellow"
            variant="light"
            p="xs"
            withCloseButton
            closeButtonLabel={t('shell:close')}
            onClose={() => setDropped([])}
          >
            {t('dropped', { fields: dropped.map((field) => t(`fields.${field}`)).join(', ') })}
          </Alert>
        )}
        <Textarea
          label={t('prompt')}
          placeholder={t('promptPlaceholder')}
          withAsterisk={needsPrompt(model)}
          value={draft.prompt}
          onChange={(event) => change({ prompt: event.currentTarget.value })}
          autosize
          minRows={4}
          maxRows={14}
          maxLength={32_000}
        />
        {draft.prompt === '' ? <Examples onChoose={(prompt) => change({ prompt })} /> : null}
        {model === undefined ? null : (
          <>
            <PictureSlots
              can={controlsOf(model).pictures}
              pictures={draft.pictures}
              onChange={(pictures) => change({ pictures })}
            />
            <Parameters key={model.id} model={model} draft={draft} onChange={change} />
          </>
        )}
        <div className="run-bar">
          <RunBar body={body} missing={missing} busy={run.isPending} error={run.error} onRun={start} />
        </div>
        <Group justify="space-between">
          <Button
            size="compact-sm"
            variant="subtle"
            color="gray"
            onClick={() =>
              replace(model === undefined ? EMPTY_DRAFT : fit({ ...EMPTY_DRAFT, model: model.id }, model).draft)
            }
          >
            {t('clear')}
          </Button>
          <Button
            size="compact-sm"
            variant="subtle"
            color="gray"
            leftSection={<IconCode size={15} />}
            disabled={model === undefined}
            onClick={() => setCode(true)}
          >
            {t('code')}
          </Button>
        </Group>
      </Stack>
      {code && model !== undefined ? (
        <CodeDialog body={bodyOf(draft, model) ?? { model: model.id }} onClose={() => setCode(false)} />
      ) : null}
    </Paper>
  );
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

function bodyOf(draft: Draft, model: UsableModel): VideoBody | undefined {
  try {
    return toBody(draft, model.vendor) as VideoBody;
  } catch {
    return undefined;
  }
}

/** Without a media schema a prompt is required; with one the schema decides. */
function needsPrompt(model: UsableModel | undefined): boolean {
  const required = (model?.input_schema as { required?: readonly string[] } | null | undefined)?.required;
  return model?.input_schema == null || required?.includes('prompt') === true;
}

type T = ReturnType<typeof useTranslation<'studio'>>['t'];

/** What still stands between the form and a video, in words. */
function missingOf(model: UsableModel, draft: Draft, t: T): string | undefined {
  const { min } = controlsOf(model).pictures;
  if (needsPrompt(model) && draft.prompt.trim() === '') return t('promptRequired');
  if (draft.pictures.length < min) return t('pictureNeeded', { count: min });
  return bodyOf(draft, model) === undefined ? t('metadataBroken') : undefined;
}
