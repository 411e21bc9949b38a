import { parseSync } from 'oxc-parser';

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const DECLARATIONS =
  /^(?:TSInterfaceDeclaration|TSTypeAliasDeclaration|ClassDeclaration|TSDeclareFunction|VariableDeclaration)$/;
const MEMBERS = /^(?:TSPropertySignature|TSMethodSignature|PropertyDefinition|MethodDefinition)$/;

/** A declaration or class member in a `.d.ts` file. */
export interface DeclaredMember {
  /** `videos.d.ts:12 timeoutMs` */
  readonly place: string;
  readonly name: string;
  readonly isMethod: boolean;
  /** Text of the declaration without its comment. */
  readonly text: string;
  /** Text of the comment above it; undefined if there is none. */
  readonly comment: string | undefined;
}

/** All declarations of a declaration file, and all members of its classes and types, except private ones. */
export function declaredMembers(file: string, text: string): DeclaredMember[] {
  const { program, comments } = parseSync(file, text);
  const found: DeclaredMember[] = [];
  const visit = (node: SyntaxNode, isExported: boolean): void => {
    const isDeclared = (DECLARATIONS.test(node.type) && isExported) || MEMBERS.test(node.type);
    const source = text.slice(node.start, node.end);
    if (isDeclared && !/^(?:private|#)/.test(source)) {
      const start = DECLARATIONS.test(node.type) ? text.lastIndexOf('\n', node.start) + 1 : node.start;
      const above = comments.findLast(({ end }) => end <= start && text.slice(end, start).trim() === '');
      const name =
        /^[\s\S]{0,200}?([\w$'"-]+)\??\s*(?:[:(<=[{;]|extends|$)/.exec(
          source.replace(/^(?:readonly|async|static|get|export|declare|const|class|interface|type|function)\s+/g, ''),
        )?.[1] ?? node.type;
      found.push({
        place: `${file}:${text.slice(0, node.start).split('\n').length} ${name}`,
        name,
        isMethod: /Method/.test(node.type) && !/^get /.test(source),
        text: source,
        comment: above?.type === 'Block' ? above.value : undefined,
      });
    }
    for (const child of Object.values(node).flat())
      if (typeof child === 'object' && child !== null && typeof (child as SyntaxNode).type === 'string')
        visit(child as SyntaxNode, /^Export/.test(node.type));
  };
  for (const statement of program.body as unknown as SyntaxNode[]) visit(statement, false);
  return found;
}
