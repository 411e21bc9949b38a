import {
  ActionIcon,
  Alert,
  Box,
  Button,
  FileButton,
  Group,
  Loader,
  NativeSelect,
  Progress,
  Text,
  TextInput,
  UnstyledButton,
  VisuallyHidden,
} from '@mantine/core';
import {
  IconArrowUp,
  IconGripVertical,
  IconLink,
  IconMusic,
  IconPhoto,
  IconRefresh,
  IconReplace,
  IconVideo,
  IconX,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type DragEvent, type KeyboardEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { InputRole, InputType } from '../../../contract/generation-ways.ts';
import type { Upload } from '../../components/upload-queue.ts';
import { fileQuery } from '../../data/files.ts';
import { isFileId } from '../../data/media-types.ts';
import { videoQuery } from '../../data/videos.ts';
import { type InputTexts, useInputTexts } from './input-texts.ts';
import { type DraftInput, type InputProblem, moveInput, promptNameOf, rolesFor, waysFor } from './inputs.ts';
import type { InputListProps } from './uploads.ts';

/** Inputs of a form in order, each with its role; loaded with the first input. */
export default function InputRows({ model, draft, check, uploads, change }: InputListProps) {
  const { t } = useTranslation('studio');
  const texts = useInputTexts();
  const { inputs, operation } = draft;
  const [moved, setMoved] = useState('');
  const list = useRef<HTMLUListElement>(null);
  const dragged = useRef<string>(undefined);
  const ways = waysFor(model, operation) ?? [];
  const move = (key: string, to: number): void => {
    if (to < 0 || to >= inputs.length) return;
    change((known) => ({ inputs: moveInput(known.inputs, key, to) }));
    setMoved(
      t('movedTo', { name: inputs.find((each) => each.key === key)?.name, position: to + 1, count: inputs.length }),
    );
    // The moved element loses the focus when the browser reinserts it.
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>(`[data-handle="${key}"]`)?.focus());
  };
  const remove = ({ key }: DraftInput): void => {
    uploads.cancel(key);
    change((known) => ({ inputs: known.inputs.filter((each) => each.key !== key) }));
  };
  const set = (key: string, part: Partial<DraftInput>): void =>
    change((known) => ({ inputs: known.inputs.map((each) => (each.key === key ? { ...each, ...part } : each)) }));
  const insertName = (name: string): void =>
    change(({ prompt }) => ({ prompt: `${prompt}${prompt === '' || /\s$/.test(prompt) ? '' : ' '}${name} ` }));
  return (
    <>
      <ul ref={list} className="inputs">
        {inputs.map((input, index) => (
          <InputRow
            key={input.key}
            input={input}
            index={index}
            count={inputs.length}
            roles={rolesFor(model, operation, input.type)}
            problem={check.problems.get(input.key)}
            upload={uploads.uploads.find(({ key }) => key === input.key)}
            texts={texts}
            promptName={model.prompt_names && input.role !== 'source' ? promptNameOf(inputs, input) : undefined}
            onName={insertName}
            onMove={(to) => move(input.key, to)}
            onDragStart={() => {
              dragged.current = input.key;
            }}
            onDropHere={() => {
              if (dragged.current !== undefined) move(dragged.current, index);
              dragged.current = undefined;
            }}
            onChange={(part) => set(input.key, part)}
            onReplace={(file) => uploads.replace(input, file)}
            onRetry={() => uploads.retry(input.key)}
            onRemove={() => remove(input)}
          />
        ))}
      </ul>
      <VisuallyHidden role="status">{moved}</VisuallyHidden>
      {[...check.problems.values()].some(({ kind }) => kind === 'together') ? (
        <Alert color="yellow" variant="light" p="xs" title={t('combinations')}>
          <Box component="ul" m={0} pl="md" fz="xs">
            {texts.combinations(ways).map((each) => (
              <li key={each}>{each}</li>
            ))}
          </Box>
        </Alert>
      ) : null}
    </>
  );
}

interface InputRowProps {
  readonly input: DraftInput;
  readonly index: number;
  readonly count: number;
  /** Roles the model takes for the type. */
  readonly roles: readonly InputRole[];
  readonly problem: InputProblem | undefined;
  readonly upload: Upload | undefined;
  readonly texts: InputTexts;
  /** Name of the input in prompts; undefined if the vendor has none. */
  readonly promptName: string | undefined;
  readonly onName: (name: string) => void;
  readonly onMove: (to: number) => void;
  readonly onDragStart: () => void;
  readonly onDropHere: () => void;
  readonly onChange: (part: Partial<DraftInput>) => void;
  readonly onReplace: (file: File) => void;
  readonly onRetry: () => void;
  readonly onRemove: () => void;
}

function InputRow(props: InputRowProps) {
  const { input, index, count, roles, problem, upload, texts, promptName } = props;
  const { t } = useTranslation('studio');
  const isUploading = input.source === undefined && upload !== undefined && upload.error === undefined;
  const problemId = `problem-${input.key}`;
  const choices = roles.includes(input.role) ? roles : [input.role, ...roles];
  const name = input.name === '' ? t(`inputTypes.${input.type}`) : input.name;
  return (
    <li
      className="input-row"
      data-problem={problem === undefined && upload?.error === undefined ? undefined : ''}
      onDragOver={(event) => {
        if (!event.dataTransfer.types.includes('Files')) event.preventDefault();
      }}
      onDrop={(event) => {
        if (event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        props.onDropHere();
      }}
    >
      <Group gap={6} wrap="nowrap" align="center">
        {count > 1 ? <MoveHandle {...props} name={name} /> : null}
        <InputThumbnail input={input} upload={upload} />
        <Box flex={1} miw={0}>
          <NativeSelect
            size="xs"
            aria-label={t('roleOf', { name })}
            aria-describedby={problem === undefined ? undefined : problemId}
            data={choices.map((role) => ({ value: role, label: t(`roles.${role}`) }))}
            value={input.role}
            disabled={choices.length < 2}
            onChange={(event) => props.onChange({ role: event.currentTarget.value as InputRole })}
          />
          <Group gap={6} wrap="nowrap" mt={2} mih={20}>
            <Text size="xs" c="dimmed" truncate title={name}>
              {name}
            </Text>
            {promptName === undefined ? null : (
              <UnstyledButton className="prompt-name" onClick={() => props.onName(promptName)} title={t('insertName')}>
                {promptName}
              </UnstyledButton>
            )}
          </Group>
        </Box>
        {input.role === 'keyframe' ? (
          <TextInput
            size="xs"
            w={56}
            inputMode="decimal"
            placeholder="0 s"
            aria-label={t('keyframeAt', { name })}
            defaultValue={input.at ?? ''}
            onChange={({ currentTarget: { value } }) => props.onChange({ at: toSeconds(value) })}
          />
        ) : null}
        <RowButtons {...props} name={name} hasMove={index > 0} />
      </Group>
      {isUploading ? (
        <Progress value={upload.share * 100} size="xs" mt={4} aria-label={t('uploading', { name })} />
      ) : null}
      {upload?.error === undefined || input.source !== undefined ? null : (
        <Group gap="xs" mt={4} role="alert">
          <Text size="xs" className="error-text">
            {upload.error}
          </Text>
          <Button size="compact-xs" variant="default" leftSection={<IconRefresh size={13} />} onClick={props.onRetry}>
            {t('uploadAgain')}
          </Button>
        </Group>
      )}
      {problem === undefined ? null : (
        <Text id={problemId} size="xs" className="error-text" mt={4}>
          {texts.problem(problem, input, roles)}
        </Text>
      )}
    </li>
  );
}

/** Seconds of a keyframe, with a comma or a point; undefined if it is no number. */
function toSeconds(text: string): number | undefined {
  const seconds = Number(text.replace(',', '.'));
  return text.trim() !== '' && seconds >= 0 && seconds <= 3_600 ? seconds : undefined;
}

/** Drag handle; with the focus on it, the arrow keys move the input. */
function MoveHandle({ input, index, count, name, onMove, onDragStart }: InputRowProps & { readonly name: string }) {
  const { t } = useTranslation('studio');
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    onMove(index + step);
  };
  const onStart = (event: DragEvent): void => {
    event.dataTransfer.setData('text/plain', name);
    event.dataTransfer.effectAllowed = 'move';
    onDragStart();
  };
  return (
    <UnstyledButton
      className="move-handle"
      draggable
      data-handle={input.key}
      aria-label={t('moveInput', { name, position: index + 1, count })}
      onDragStart={onStart}
      onKeyDown={onKeyDown}
    >
      <IconGripVertical size={16} />
    </UnstyledButton>
  );
}

function RowButtons({
  input,
  index,
  name,
  hasMove,
  onMove,
  onReplace,
  onRemove,
}: InputRowProps & { readonly name: string; readonly hasMove: boolean }) {
  const { t } = useTranslation('studio');
  return (
    <Group gap={0} wrap="nowrap">
      {hasMove ? (
        <ActionIcon
          size="md"
          aria-label={t('moveUp', { name })}
          data-hint={t('moveUpHint')}
          onClick={() => onMove(index - 1)}
        >
          <IconArrowUp size={15} />
        </ActionIcon>
      ) : null}
      <FileButton accept={`${input.type}/*`} onChange={(file) => (file === null ? undefined : onReplace(file))}>
        {(props) => (
          <ActionIcon {...props} size="md" aria-label={t('replaceInput', { name })} data-hint={t('replace')}>
            <IconReplace size={15} />
          </ActionIcon>
        )}
      </FileButton>
      <ActionIcon size="md" aria-label={t('removeInput', { name })} data-hint={t('remove')} onClick={onRemove}>
        <IconX size={15} />
      </ActionIcon>
    </Group>
  );
}

const TYPE_ICONS: Readonly<Record<InputType, typeof IconPhoto>> = {
  image: IconPhoto,
  video: IconVideo,
  audio: IconMusic,
};

/**
 * Thumbnail of an input. Content of other hosts is not loaded, because that would reveal the user's IP address to them.
 */
function InputThumbnail({ input, upload }: { readonly input: DraftInput; readonly upload: Upload | undefined }) {
  const { source, type } = input;
  const id = source !== undefined && 'file_id' in source ? source.file_id : '';
  const file = useQuery({ ...fileQuery(id), enabled: upload === undefined && isFileId(id) });
  const video = useQuery({ ...videoQuery(id), enabled: id !== '' && !isFileId(id) });
  const data = source !== undefined && 'data' in source ? source.data : undefined;
  const poster = video.data?.poster_url || undefined;
  const url = upload?.preview ?? data ?? file.data?.url;
  const Icon = source !== undefined && 'url' in source ? IconLink : TYPE_ICONS[type];
  return (
    <div className="input-thumbnail">
      {type === 'image' && url !== undefined ? <img src={url} alt="" /> : null}
      {type === 'video' && poster !== undefined ? <img src={poster} alt="" /> : null}
      {type === 'video' && poster === undefined && (url ?? video.data?.play_url) ? (
        <video src={`${url ?? video.data?.play_url}#t=0.05`} muted preload="metadata" aria-hidden />
      ) : null}
      {file.isLoading || video.isLoading ? <Loader size="xs" /> : <Icon size={18} aria-hidden />}
    </div>
  );
}
