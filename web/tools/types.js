// Writes src/lib/api-types.ts, the types of the API, from its OpenAPI document: before a build, a check and a test.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const DOCUMENT = new URL('../../docs/api/openapi.json', import.meta.url);
const TYPES = new URL('../src/lib/api-types.ts', import.meta.url);
/** What `apiUrl` writes in front of each path. */
const BASE = '/api/v1';
const METHODS = ['get', 'post', 'patch', 'put', 'delete'];

/** The text of a module with a type for each schema, and `Api`: for each method and path, what it takes and answers. */
export function typesOf(document) {
  const schemas = Object.entries(document.components?.schemas ?? {});
  const named = schemas.map(([name, schema]) => declaration(name, schema));
  const methods = METHODS.map((method) => {
    const operations = Object.entries(document.paths)
      .filter(([, item]) => item[method])
      .map(([path, item]) => operationOf(path, item[method], item.parameters ?? []));
    return `  ${method}: {\n${operations.join('')}  };\n`;
  });
  return `${HEAD}\n${named.join('\n')}\n${API}\nexport interface Api {\n${methods.join('')}}\n`;
}

function declaration(name, schema) {
  const about = comment(schema.description, '');
  if (schema.properties) return `${about}export interface ${name} ${objectOf(schema, '')}\n`;
  return `${about}export type ${name} = ${typeOf(schema, '')};\n`;
}

/** The type of a schema. What the document leaves open is `unknown`, so that nothing is read of it unlooked at. */
function typeOf(schema, indent) {
  if (schema.$ref) return schema.$ref.replace('#/components/schemas/', '');
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const either = schema.oneOf ?? schema.anyOf;
  if (either) return either.map((one) => typeOf(one, indent)).join(' | ');
  const types = [schema.type ?? []].flat();
  if (types.length === 0) return 'unknown';
  return types.map((type) => typeNamed(type, schema, indent)).join(' | ');
}

function typeNamed(type, schema, indent) {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'array':
      return `Array<${typeOf(schema.items ?? {}, indent)}>`;
    case 'object':
      if (schema.properties) return objectOf(schema, indent);
      return `Record<string, ${typeOf(schema.additionalProperties ?? {}, indent)}>`;
    default:
      throw new Error(`tools/types.js: the OpenAPI document has a type "${type}": say in typeNamed what it is here`);
  }
}

function objectOf(schema, indent) {
  const deeper = `${indent}  `;
  const fields = Object.entries(schema.properties).map(([name, field]) => {
    const optional = schema.required?.includes(name) ? '' : '?';
    return `${comment(field.description, deeper)}${deeper}${keyOf(name)}${optional}: ${typeOf(field, deeper)};\n`;
  });
  return `{\n${fields.join('')}${indent}}`;
}

function operationOf(path, operation, shared) {
  if (!path.startsWith(`${BASE}/`)) throw new Error(`tools/types.js: ${path} is not below ${BASE}, where the page looks`);
  const parameters = [...shared, ...(operation.parameters ?? [])];
  const lines = [
    `path: ${parametersOf(parameters, 'path')};`,
    `query: ${parametersOf(parameters, 'query')};`,
    `body: ${jsonOf(operation.requestBody?.content, 'never')};`,
    `answer: ${answerOf(operation.responses)};`,
  ];
  const about = comment(operation.summary, '    ');
  return `${about}    ${keyOf(path.slice(BASE.length))}: {\n${lines.map((line) => `      ${line}\n`).join('')}    };\n`;
}

function parametersOf(parameters, place) {
  const found = parameters.filter((parameter) => parameter.in === place);
  if (found.length === 0) return '{}';
  const fields = found.map(({ name, required, schema }) =>
    required ? `${keyOf(name)}: ${typeOf(schema, '')}` : `${keyOf(name)}?: ${typeOf(schema, '')} | null | undefined`,
  );
  return `{ ${fields.join('; ')} }`;
}

/** What comes where it went well: JSON, nothing, or what is no JSON and is not read by `get`. */
function answerOf(responses) {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
  if (!success) throw new Error('tools/types.js: a request of the OpenAPI document has no answer with a status of 2xx');
  return success.content ? jsonOf(success.content, 'never') : 'undefined';
}

function jsonOf(content, otherwise) {
  const schema = content?.['application/json']?.schema;
  return schema ? typeOf(schema, '      ') : otherwise;
}

function keyOf(name) {
  return /^[A-Za-z_]\w*$/.test(name) ? name : `'${name}'`;
}

function comment(text, indent) {
  if (!text) return '';
  const lines = text.trim().replaceAll('*/', '* /').split('\n');
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`;
}

const HEAD = '// Generated by tools/types.js from docs/api/openapi.json. Not kept: every build writes it.\n';
const API = `/**
 * Requests by method and path. \`query\` and \`path\` are its parameters, \`body\` what is sent as JSON, \`answer\` what comes
 * back: \`undefined\` without a body, \`never\` for a file or for events, which are fetched by their address.
 */`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = typesOf(JSON.parse(readFileSync(DOCUMENT, 'utf8')));
  // What is as it was stays as old as it was, so that nothing is built again for it.
  if (!existsSync(TYPES) || readFileSync(TYPES, 'utf8') !== text) writeFileSync(TYPES, text);
}
