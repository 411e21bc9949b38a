import { Alert, Button, Group, Paper, Stack, Text, Textarea, UnstyledButton } from '@mantine/core';
import { IconCode } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useToasts } from '../../components/toasts.tsx';
import type { UsableModel } from '../../data/model-queries.ts';
import { selfQuery } from '../../data/query-client.ts';
import { submitVideo, type VideoBody } from '../../data/video-queries.ts';
import { CodeSamplesDialog } from './code-samples-dialog.tsx';
import { requestPathsFor } from './form-fields.ts';
import { GenerateBar } from './generate-bar.tsx';
import { ImageSlots } from './image-slots.tsx';
import { ModelPicker } from './model-picker.tsx';
import { Parameters } from './parameters.tsx';
import { toBody } from './request-body.ts';
import { controlsFor, type Draft, type DraftField, EMPTY_DRAFT, fitToModel } from './studio-draft.ts';

interface StudioFormProps {
  readonly models: readonly UsableModel[];
  readonly draft: Draft;
  readonly change: (part: Partial<Draft>) => void;
  readonly replace: (draft: Draft) => void;
}

export function StudioForm({ models, draft, change, replace }: StudioFormProps) {
  const { t } = useTranslation(['studio', 'app']);
  const [dropped, setDropped] = useState<readonly DraftField[]>([]);
  const [code, setCode] = useState(false);
  const model = models.find(({ id }) => id === draft.model);
  const missing = model === undefined ? t('modelPlaceholder') : missingInput(model, draft, t);
  const body = model === undefined || missing !== undefined ? undefined : bodyOf(draft, model);
  const run = useSubmitVideo();
  const submit = (): void => {
    if (body !== undefined && !run.isPending) run.mutate(body);
  };
  const selectModel = (next: UsableModel): void => {
    const fitted = fitToModel(draft, next);
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
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
      }}
    >
      <Stack gap="md">
        <ModelPicker models={models} value={draft.model} onChange={selectModel} />
        {dropped.length === 0 ? null : (
          <Alert
            color="yellow"
            variant="light"
            p="xs"
            withCloseButton
            closeButtonLabel={t('app:close')}
            onClose={() => setDropped([])}
          >
            {t('dropped', { count: dropped.length, fields: joinNames(dropped.map((field) => t(`fields.${field}`))) })}
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
            <ImageSlots
              limits={controlsFor(model).pictures}
              pictures={draft.pictures}
              onChange={(pictures) => change({ pictures })}
            />
            <Parameters key={model.id} model={model} draft={draft} onChange={change} />
          </>
        )}
        <div className="run-bar">
          <GenerateBar body={body} missing={missing} busy={run.isPending} error={run.error} onRun={submit} />
        </div>
        <FormFooter
          onClear={() =>
            replace(model === undefined ? EMPTY_DRAFT : fitToModel({ ...EMPTY_DRAFT, model: model.id }, model).draft)
          }
          onShowCode={model === undefined ? undefined : () => setCode(true)}
        />
      </Stack>
      {code && model !== undefined ? (
        <CodeSamplesDialog body={bodyOf(draft, model) ?? { model: model.id }} onClose={() => setCode(false)} />
      ) : null}
    </Paper>
  );
}

/** "Length, seed": named at the beginning of a sentence. */
function joinNames(names: readonly string[]): string {
  const text = names.join(', ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

interface FormFooterProps {
  readonly onClear: () => void;
  /** Undefined while there is no request to show as code. */
  readonly onShowCode: (() => void) | undefined;
}

function FormFooter({ onClear, onShowCode }: FormFooterProps) {
  const { t } = useTranslation('studio');
  return (
    <Group justify="space-between">
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

/** Starts videos. A press starts one video even if its request has to be sent again: the key is renewed after each. */
function useSubmitVideo() {
  const { t } = useTranslation('studio');
  const queries = useQueryClient();
  const toasts = useToasts();
  const idempotencyKey = useRef(crypto.randomUUID());
  return useMutation({
    mutationFn: (request: VideoBody) => submitVideo(request, idempotencyKey.current),
    onSettled: () => {
      idempotencyKey.current = crypto.randomUUID();
    },
    onSuccess: async () => {
      toasts.success(t('started'));
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['videos', 'list'] }),
        queries.invalidateQueries({ queryKey: selfQuery.queryKey }),
      ]);
    },
  });
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
    return toBody(draft, requestPathsFor(model)) as VideoBody;
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

/** The first reason, as text, why the form cannot be submitted yet; undefined if it can. */
function missingInput(model: UsableModel, draft: Draft, t: T): string | undefined {
  const { min } = controlsFor(model).pictures;
  if (needsPrompt(model) && draft.prompt.trim() === '') return t('promptRequired');
  if (draft.pictures.length < min) return t('pictureNeeded', { count: min });
  return bodyOf(draft, model) === undefined ? t('metadataBroken') : undefined;
}
