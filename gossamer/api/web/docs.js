// The routes of this server, each with a form to try it. All of it is made from /api/v1/openapi.json; texts are put
// in as text and never as HTML, because answers hold what strangers wrote.

const SHOWN_CHARACTERS = 100_000;

/** An element with properties and children. */
function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

const answer = await fetch("api/v1/openapi.json"); // beside this page, which may be below the path of one crawl of several
if (answer.status === 401) location.assign("/");
const api = await answer.json();
const about = document.querySelector("#about");
about.replaceChildren(`Version ${api.info.version}. ${api.info.description} The same for programs: `);
about.append(make("a", { href: "api/v1/openapi.json", textContent: "openapi.json" }));

for (const [path, methods] of Object.entries(api.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    document.querySelector("#routes").append(routeOf(path, method.toUpperCase(), operation));
  }
}

function routeOf(path, method, operation) {
  const form = make("form");
  const fields = new Map();
  for (const parameter of operation.parameters) {
    const field = fieldOf(parameter);
    fields.set(parameter, field);
    const note = parameter.description ? make("small", { textContent: parameter.description }) : "";
    form.append(make("label", {}, `${parameter.name}${parameter.required ? " (needed)" : ""}`, field, note));
  }
  const body = operation.requestBody ? make("textarea", { value: exampleOf(operation.requestBody), spellcheck: false }) : null;
  if (body) form.append(make("label", {}, "body", body));
  const output = make("pre", { hidden: true });
  form.append(make("button", { textContent: "Try it" }), output);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tryIt(path, method, fields, body, output);
  });
  const scope = operation["x-scope"] === "control" ? " (needs a key that may control)" : "";
  return make(
    "details",
    {},
    make("summary", {}, make("b", { textContent: method }), make("code", { textContent: path }), make("span", { textContent: ` ${operation.summary}` })),
    make("p", { textContent: `${operation.description ?? ""}${scope}` }),
    answersOf(operation),
    form,
  );
}

function fieldOf({ name, required, schema }) {
  const kind = resolved(schema);
  if (!kind.enum) return make("input", { name, required, placeholder: kind.default ?? "" });
  const options = required ? kind.enum : ["", ...kind.enum];
  return make("select", { name }, ...options.map((value) => make("option", { value, textContent: value })));
}

function answersOf(operation) {
  const rows = Object.entries(operation.responses).map(([status, { description, content }]) => {
    const kinds = Object.entries(content ?? {}).map(([type, { schema }]) => `${type} ${nameOf(schema)}`);
    return make("tr", {}, ...[status, kinds.join(", "), description].map((textContent) => make("td", { textContent })));
  });
  return make("details", {}, make("summary", { textContent: "Answers" }), make("table", {}, ...rows));
}

function nameOf(schema) {
  return (schema.anyOf ?? [schema]).map(({ $ref, type }) => $ref?.split("/").at(-1) ?? type ?? "").join(" or ");
}

function resolved(schema) {
  return schema.$ref ? resolved(api.components.schemas[schema.$ref.split("/").at(-1)]) : schema;
}

/** A body with every field of its schema. */
function exampleOf({ content }) {
  const { properties } = resolved(content["application/json"].schema);
  const values = Object.entries(properties).map(([name, schema]) => [name, valueOf(schema)]);
  return JSON.stringify(Object.fromEntries(values), null, 2);
}

function valueOf(schema) {
  const kind = resolved(schema);
  if (kind.default !== undefined) return kind.default;
  if (kind.type === "array") return [valueOf(kind.items)];
  return kind.type === "string" ? "" : 0;
}

async function tryIt(path, method, fields, body, output) {
  let target = path;
  const query = new URLSearchParams();
  for (const [{ name, in: where }, { value }] of fields) {
    if (where === "path") target = target.replace(`{${name}}`, encodeURIComponent(value));
    else if (value) query.set(name, value);
  }
  if (query.size) target += `?${query}`;
  const stop = new AbortController();
  output.hidden = false;
  output.textContent = "…";
  try {
    const headers = body ? { "Content-Type": "application/json" } : {};
    const response = await fetch(target.slice(1), { method, headers, body: body?.value, signal: stop.signal });
    const type = response.headers.get("Content-Type") ?? "";
    output.textContent = `${response.status} ${type}\n\n`;
    if (type.startsWith("text/event-stream")) await follow(response, output, stop);
    else output.textContent += shown(await response.text(), type);
  } catch (fault) {
    output.textContent += fault.message;
  }
}

function shown(text, type) {
  if (!type.includes("json")) return text.slice(0, SHOWN_CHARACTERS);
  try {
    return JSON.stringify(JSON.parse(text), null, 2).slice(0, SHOWN_CHARACTERS);
  } catch {
    return text.slice(0, SHOWN_CHARACTERS);
  }
}

/** Events for as long as there is room to show them. */
async function follow(response, output, stop) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  while (output.textContent.length < SHOWN_CHARACTERS && output.isConnected) {
    const { value, done } = await reader.read();
    if (done) return;
    output.append(value);
  }
  stop.abort();
}
