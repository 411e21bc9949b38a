import { Anchor, Group, Text, Textarea } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { parseMediaSchema } from './parse-media-schema.ts';

const EXAMPLE_SCHEMA = {
  type: 'object',
  properties: {
    camera: { type: 'string', enum: ['static', 'orbit'], default: 'static', 'x-upstream': 'camera_control' },
  },
};

/** The media schema as text. JSON syntax errors are shown immediately; the service validates the content. */
export function MediaSchemaEditor({
  text,
  onChange,
}: {
  readonly text: string;
  readonly onChange: (text: string) => void;
}) {
  const { t } = useTranslation('admin-models');
  const read = parseMediaSchema(text);
  return (
    <div>
      <Textarea
        label={t('schema.label')}
        description={t('schema.hint')}
        placeholder={t('schema.placeholder')}
        autosize
        minRows={4}
        maxRows={20}
        spellCheck={false}
        value={text}
        error={read.ok ? undefined : read.line === undefined ? t('schema.noObject') : t('schema.wrongAt', { ...read })}
        onChange={(event) => onChange(event.currentTarget.value)}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
      />
      <Group gap="md" mt={4}>
        {read.ok && read.schema !== null ? (
          <Anchor
            component="button"
            type="button"
            size="xs"
            onClick={() => onChange(JSON.stringify(read.schema, null, 2))}
          >
            {t('schema.tidy')}
          </Anchor>
        ) : null}
        {text.trim() === '' ? (
          <Anchor
            component="button"
            type="button"
            size="xs"
            onClick={() => onChange(JSON.stringify(EXAMPLE_SCHEMA, null, 2))}
          >
            {t('schema.example')}
          </Anchor>
        ) : null}
        {read.ok && read.schema !== null ? (
          <Text size="xs" c="dimmed">
            {t('schema.arguments', { names: read.names.join(', ') || '–' })}
          </Text>
        ) : null}
      </Group>
    </div>
  );
}
